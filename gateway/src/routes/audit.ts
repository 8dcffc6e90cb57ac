import { AuditEntrySchema, type AuditEntryService } from "@tidings/proto/tidings/reporting/v1/audit_entry";
import type { RpcClient } from "@tidings/rpc/client";
import { Router } from "express";
import { endpoint } from "../rest/endpoint.ts";
import type { ListLimits } from "../rest/list-query.ts";
import { listing } from "./listing.ts";

/** Changes with their actors; the latest first. */
export function auditRoutes(entries: RpcClient<typeof AuditEntryService>, limits: ListLimits): Router {
  const router = Router({ caseSensitive: true });
  const listEntries = listing(AuditEntrySchema, "logs", limits, () => async (query, options) => {
    const { auditEntries: items, ...page } = await entries.listAuditEntries({ query }, options);
    return { ...page, items };
  });
  endpoint(router, "/", { GET: listEntries });
  return router;
}
