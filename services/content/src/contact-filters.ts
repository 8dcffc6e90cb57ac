import type { Violation } from "@tidings/rpc/fault";
import { textOf } from "@tidings/runtime/plain-text";
import { isObject, notValid } from "@tidings/store/json-member";

const FILTERS_MAX = 100;
const OPERATORS = new Set(
  `= != gt gte lt lte empty !empty like !like between !between in !in regexp !regexp date startsWith endsWith
  contains`.split(/\s+/),
);
const GLUES = new Set(["and", "or"]);

/** Is this a list of filters of contacts, in the form that segments have? Which fields there are the contact service knows. */
export function checkContactFilters(field: string, filters: unknown): Violation[] {
  if (!Array.isArray(filters)) return [notValid(field)];
  if (filters.length > FILTERS_MAX) return [notValid(field, `At most ${FILTERS_MAX} entries are supported.`)];
  return filters.flatMap((filter, index) => {
    const path = `${field}[${index}]`;
    if (!isObject(filter)) return [notValid(path)];
    const violations: Violation[] = [];
    if (typeof filter.field !== "string" || filter.field === "") violations.push(notValid(`${path}.field`));
    if (!OPERATORS.has(textOf(filter.operator ?? "=") ?? "")) violations.push(notValid(`${path}.operator`));
    if (!GLUES.has(textOf(filter.glue ?? "and") ?? "")) violations.push(notValid(`${path}.glue`));
    return violations;
  });
}
