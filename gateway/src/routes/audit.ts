import { AuditEntrySchema, AuditEntryService } from "@tidings/proto/tidings/reporting/v1/audit_entry";
import { listAnswer, listQuery } from "../route/answer.ts";
import { type Route, route } from "../route/route.ts";
import type { RoutesContext } from "./routes-context.ts";

/** Changes with their actors; the latest first. */
export function auditRoutes({ clients, limits }: RoutesContext): Route[] {
  const entries = clients.of(AuditEntryService);
  return [
    route({
      method: "GET",
      path: "/audit",
      summary: "List changes with their actors, the latest first",
      rpc: AuditEntryService.method.listAuditEntries,
      query: listQuery(limits),
      answer: listAnswer({ many: "logs", shape: "array", total: "int" }, AuditEntrySchema),
      handle: ({ query: parameters }) => ({
        parameters,
        async list(query, options) {
          const { auditEntries: items, ...page } = await entries.listAuditEntries({ query }, options);
          return { ...page, items };
        },
      }),
    }),
  ];
}
