import { apiRoutes } from "../routes/api-routes.ts";
import type { RoutesContext } from "../routes/routes-context.ts";
import { type Document, documentOf } from "./document.ts";
import { generalMembers } from "./fields.ts";

/** Nothing is called while routes are described. */
const CONTEXT = {
  clients: { of: () => ({}) },
  limits: { pageSize: 30, limitMax: 10_000, batchMax: 200 },
  nested: "byId",
} as unknown as RoutesContext;

/** What every installation has in common: `docs/openapi.json`. */
export function generalDocument(version: string): Document {
  return documentOf(apiRoutes(CONTEXT), { version, nested: "byId", open: generalMembers });
}
