import { describeApi, describedRoutes } from "@tidings/gateway/described-api";
import type { Route } from "@tidings/gateway/route/route";
import type { RoutesContext } from "@tidings/gateway/routes/routes-context";

/** The description of the API that every installation has in common, as clients are generated from it. */
export const OPENAPI_FILE = "docs/openapi.json";

/** The settings that an installation has unless it says otherwise; nothing is called while routes are described. */
const CONTEXT = {
  clients: { of: () => ({}) },
  limits: { pageSize: 30, limitMax: 10_000, batchMax: 200 },
  nested: "byId",
} as unknown as RoutesContext;

export function openApiText(): string {
  return `${JSON.stringify(describeApi(routesOfDefaults(), CONTEXT), undefined, 1)}\n`;
}

export function routesOfDefaults(): Route[] {
  return describedRoutes(CONTEXT);
}
