import {
  type AuditEntry,
  AuditEntrySchema,
  AuditEntryService,
} from "@tidings/proto/tidings/reporting/v1/audit_entry";
import type { ListQuery } from "@tidings/proto/tidings/type/v1/list";
import { repository } from "@tidings/resource/repository";
import type { Call } from "@tidings/rpc/call";
import { implement } from "@tidings/rpc/server";
import type { Foundation, Parts } from "@tidings/service/start-service";
import { startAuditing } from "./audit.ts";
import type { ReportingConfig } from "./config.ts";

/** The log of changes. */
export function openReportingService({ database, outbox, bus }: Foundation<ReportingConfig>): Parts {
  const entries = repository<AuditEntry>({ database, outbox }, AuditEntrySchema);
  const listAuditEntries = async ({ query }: { query?: ListQuery | undefined }, call: Call) => {
    const { items, totalSize, ids } = await entries.list(query, call);
    return { auditEntries: items, totalSize, ids };
  };
  return {
    services: [implement(AuditEntryService, { listAuditEntries })],
    work: { audit: startAuditing(database, bus) },
  };
}
