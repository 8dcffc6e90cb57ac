import type { MessageInitShape } from "@bufbuild/protobuf";
import { type Database, prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import { jobsOf } from "@tidings/jobs/jobs";
import type { JobOptions } from "@tidings/jobs/run-jobs";
import { ContactCommandService, type IdentifyContactSchema } from "@tidings/proto/tidings/contact/v1/command";
import { jsonBytes } from "@tidings/resource/json-member";
import { serviceActor } from "@tidings/rpc/actor";
import type { Log } from "@tidings/runtime/log";
import type { Upstreams } from "@tidings/service/upstreams";
import { identifyVisitor } from "./contact-command.ts";

/** Values that a page sent of its visitor with a hit. */
export interface SaidOfVisitor {
  /** The id of the hit. */
  hitId: string;
  deviceId: string;
  contactId: number;
  /** Values by aliases of fields; only those that everybody may write are written. */
  values: Record<string, string>;
  tags: string;
  /** An id in case that the values contradict the contact. */
  newContactId: number;
}

const jobs = jobsOf("visitor_identity");
const AT_ONCE = 8;
const actor = serviceActor("Visitors");

/** Plans that contacts who turned out to be another one become a part of that one, where nothing is known of them. */
export function planMerges(
  transaction: Transaction,
  merges: { contactId: number; mergedId: number }[],
): void {
  jobs.add(
    transaction,
    merges.map((merge) => ({ key: `merge ${merge.mergedId} ${merge.contactId}`, payload: merge })),
  );
}

/** Plans that values are written to the contacts of visitors, or find those that they are. */
export function planIdentifications(transaction: Transaction, said: SaidOfVisitor[]): void {
  jobs.add(
    transaction,
    said.map(({ hitId, ...payload }) => ({ key: `hit ${hitId}`, payload })),
  );
}

type Task = Partial<Omit<SaidOfVisitor, "hitId">> & { contactId: number; mergedId?: number };

const ownStatement = prepared(
  "visitor_devices_own",
  `update visitor_devices set contact_id = $2::integer, is_proven = is_proven and not $3::boolean
   where id = $1 and (contact_id <> $2::integer or $3::boolean)`,
);

/** Gives a device to the contact that its visitor turned out to be. One that was found by what was said is not proven. */
export function ownDevice(
  transaction: Transaction,
  { deviceId, contactId, isFound }: { deviceId: string; contactId: number; isFound: boolean },
): void {
  transaction.execute(ownStatement, [deviceId, contactId, isFound]);
}

interface Identified {
  deviceId?: string;
  identifiedAs?: number;
  isFound?: boolean;
}

/** Finds out who visitors are, each by a command of the contact service that takes effect once. */
export function identification(database: Database, log: Log, upstreams: Upstreams): JobOptions {
  const contacts = upstreams.client("contact", ContactCommandService);
  return {
    database,
    log,
    jobs,
    atOnce: AT_ONCE,
    async prepare(job) {
      const { contactId, ...task } = job.payload as unknown as Task;
      const said = { key: `visitor:${job.key}`, contactId, value: effectOf(task) };
      return { ...job, payload: { ...job.payload, ...(await identifyVisitor({ contacts, actor }, said)) } };
    },
    async work(transaction, { payload }) {
      const { deviceId, identifiedAs: contactId, isFound = false } = payload as Identified;
      if (deviceId && contactId) ownDevice(transaction, { deviceId, contactId, isFound });
      return { state: "done" };
    },
  };
}

function effectOf({
  values,
  tags,
  newContactId,
  mergedId,
}: Omit<Task, "contactId">): MessageInitShape<typeof IdentifyContactSchema> {
  return {
    ...(values && { values: jsonBytes(values) }),
    isPublic: true,
    tags: tags ?? "",
    newContactId: newContactId ?? 0,
    ...(mergedId !== undefined && { mergedId }),
  };
}
