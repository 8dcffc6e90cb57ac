import { createHash } from "node:crypto";
import { backgroundDeadline, type Database, prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import { jobsOf } from "@tidings/jobs/jobs";
import type { JobOptions } from "@tidings/jobs/run-jobs";
import { ContactCommandService } from "@tidings/proto/tidings/contact/v1/command";
import { jsonBytes } from "@tidings/resource/json-member";
import { serviceActor } from "@tidings/rpc/actor";
import type { Log } from "@tidings/runtime/log";
import type { Upstreams } from "@tidings/service/upstreams";
import { contactCommander } from "../visit/contact-command.ts";
import { KEPT_SECONDS, RefusalReason, unheard } from "./refusals.ts";
import { addressHash } from "./refused-addresses.ts";

/** An address whose reader said no; its contacts are not known here. */
interface Task {
  address: string;
  comments: string;
  /** When the reader said so, in milliseconds since 1970. */
  at: number;
  isPassedOn?: boolean;
}

const CHANNEL = "email";
/** The contact of a row that is of an address alone. */
const NOBODY = 0;
const keepStatement = prepared(
  "refused_addresses_keep",
  `insert into refused_addresses (channel, address_hash, contact_id, reason) values ('${CHANNEL}', ${addressHash("$1")}, ${NOBODY}, ${RefusalReason.UNSUBSCRIBED}) on conflict do nothing`,
);
const endStatement = prepared(
  "refused_addresses_end",
  `delete from refused_addresses where channel = '${CHANNEL}' and address_hash = ${addressHash("$1")} and contact_id = ${NOBODY}`,
);
const jobs = jobsOf("address_refusal");
/** SQL: rows that are refused addresses which were not passed on yet, also those that were given up. */
export const ADDRESSES_UNHEARD = unheard(jobs.kind);

/** Keeps that nobody wants emails at an address. Sends obey it with this transaction; a job passes it on to the contact service. */
export function keepAddressRefusal(transaction: Transaction, said: Pick<Task, "address" | "comments">): void {
  transaction.execute(keepStatement, [said.address]);
  const key = createHash("sha256").update(said.address.toLowerCase()).digest("hex");
  jobs.add(transaction, [{ key, payload: { ...said, at: Date.now() } satisfies Task }]);
}

/** Passes refused addresses on to the contact service. While it is away they wait. */
export function addressRefusalJobs(database: Database, log: Log, upstreams: Upstreams): JobOptions {
  const contacts = upstreams.client("contact", ContactCommandService);
  const actor = serviceActor("Unsubscribes");
  const command = contactCommander({ contacts, actor });
  const reason = RefusalReason.UNSUBSCRIBED;
  return {
    database,
    log,
    jobs,
    async prepare(job) {
      const { address, comments, at, isPassedOn } = job.payload as unknown as Task;
      if (isPassedOn) return job;
      const outgoing = { actor, deadlineMs: backgroundDeadline(), requestId: "" };
      const { contactIds } = await contacts.refuseAddress({ channel: CHANNEL, address, reason }, outgoing);
      const body = jsonBytes({ doNotContact: [{ channel: CHANNEL, reason, comments }] });
      await Promise.all(
        contactIds.map((contactId) =>
          command({
            key: `address-refusal:${contactId}:${at}`,
            contactId,
            effect: { case: "edit", value: { body } },
          }),
        ),
      );
      return job;
    },
    async work(transaction, { payload }) {
      const { address, isPassedOn } = payload as unknown as Task;
      // Sends whose answer is of before may be on their way.
      if (!isPassedOn)
        return { state: "again", payload: { ...payload, isPassedOn: true }, delaySeconds: KEPT_SECONDS };
      transaction.execute(endStatement, [address]);
      return { state: "done" };
    },
  };
}
