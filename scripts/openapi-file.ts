import { type DescribedApi, describedApi } from "@tidings/gateway/described-api";
import { cursorsOf } from "@tidings/gateway/rest/cursor";
import type { RoutesContext } from "@tidings/gateway/routes/routes-context";

/** The description of the API that every installation has in common, as clients are generated from it. */
export const OPENAPI_FILE = "docs/openapi.json";

/** The settings that an installation has unless it says otherwise; nothing is called while routes are described. */
const CONTEXT = {
  clients: { of: () => ({}), in: () => ({}) },
  limits: { pageSize: 30, limitMax: 10_000, batchMax: 200, cursors: cursorsOf("none") },
  nested: "byId",
} as unknown as RoutesContext;

export function openApiText(): string {
  return `${JSON.stringify(apiOfDefaults().document, undefined, 1)}\n`;
}

/** The API as it is without settings of its own, or with those of another dialect. */
export function apiOfDefaults(own: Partial<RoutesContext> = {}): DescribedApi {
  return describedApi({ ...CONTEXT, ...own });
}
