import type { Row } from "@tidings/database/statement";
import type { Form } from "@tidings/proto/tidings/content/v1/form";
import { isObject } from "@tidings/resource/json-member";
import { isKept } from "./field-types.ts";

/** The results of a stored submission by the aliases that the fields have now; null where the field was not there or not asked for. */
export function resultsOf({ results }: Row, { fields }: Form): Record<string, unknown> {
  const kept: unknown = JSON.parse(results ?? "{}");
  const byId = isObject(kept) ? kept : {};
  return Object.fromEntries(fields.filter(isKept).map(({ alias, id }) => [alias, byId[id] ?? null]));
}
