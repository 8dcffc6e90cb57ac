import type { MessageInitShape } from "@bufbuild/protobuf";
import { type Database, prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import { jobsOf, type NewJob } from "@tidings/jobs/jobs";
import type { JobOptions } from "@tidings/jobs/run-jobs";
import {
  type ContactCommandSchema,
  ContactCommandService,
  type IdentifyContactSchema,
} from "@tidings/proto/tidings/contact/v1/command";
import { jsonBytes } from "@tidings/resource/json-member";
import { serviceActor } from "@tidings/rpc/actor";
import type { Log } from "@tidings/runtime/log";
import { slices } from "@tidings/runtime/slices";
import type { Upstreams } from "@tidings/service/upstreams";
import { commandContacts } from "./contact-command.ts";

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
  /** How the values came, as `tidings.contact.v1.Identification` names it. */
  proof: "query" | "pixel";
}

/** A contact that turned out to be another one, by a signed link on this device. */
export interface Merge {
  deviceId: string;
  contactId: number;
  mergedId: number;
}

/** A command of the contact service about the visitor of a device. */
interface Task
  extends Partial<Pick<SaidOfVisitor, "values" | "tags" | "newContactId">>,
    Pick<Merge, "deviceId" | "contactId"> {
  /** Names the occasion. */
  key: string;
  mergedId?: number;
  proof: string;
}

/** Devices are spread over lanes. Jobs of a lane are done one after the other, so that those of a device are done in their order. */
const LANES = 16;
const LANES_AT_ONCE = 8;
/** Commands of one job. */
const SET_MAX = 100;

const jobs = jobsOf("visitor_identity", { isOrdered: true });
const actor = serviceActor("Visitors");

/** Plans that contacts who turned out to be another one become a part of that one, where nothing is known of them. */
export function planMerges(transaction: Transaction, merges: Merge[]): void {
  plan(
    transaction,
    merges.map((merge) => ({
      ...merge,
      // Several devices may have begun as one contact: each has a command of its own.
      key: `merge ${merge.mergedId} ${merge.contactId} ${merge.deviceId}`,
      proof: "link",
    })),
  );
}

/** Plans that values are written to the contacts of visitors, or find those that they are. */
export function planIdentifications(transaction: Transaction, said: SaidOfVisitor[]): void {
  plan(
    transaction,
    said.map(({ hitId, ...task }) => ({ ...task, key: `hit ${hitId}` })),
  );
}

/** A job for each lane, of bounded sets. */
function plan(transaction: Transaction, tasks: Task[]): void {
  const byLane = Map.groupBy(tasks, ({ deviceId }) => laneOf(deviceId));
  const planned = [...byLane].flatMap(([lane, ofLane]) =>
    slices(ofLane, SET_MAX).map(
      (set): NewJob => ({ key: set[0]?.key ?? "", group: lane, payload: { tasks: set } }),
    ),
  );
  jobs.add(transaction, planned);
}

function laneOf(deviceId: string): number {
  return [...deviceId].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 65_521, 0) % LANES;
}

const ownStatement = prepared(
  "visitor_devices_own",
  `update visitor_devices d set contact_id = x.contact_id, is_proven = d.is_proven and not x.is_found
   from (select * from json_to_recordset($1::json) as x (device_id text, contact_id integer, is_found boolean) order by device_id) x
   where d.id = x.device_id and (d.contact_id <> x.contact_id or x.is_found)`,
);

/** The contact that the visitor of a device turned out to be. One that was found by what was said is not proven. */
export interface OwnedDevice {
  deviceId: string;
  contactId: number;
  isFound: boolean;
}

/** Gives devices to the contacts that their visitors turned out to be. */
export function ownDevices(transaction: Transaction, owned: OwnedDevice[]): void {
  const latest = new Map(
    owned.map(({ deviceId, contactId, isFound }) => [
      deviceId,
      { device_id: deviceId, contact_id: contactId, is_found: isFound },
    ]),
  );
  if (latest.size > 0) transaction.execute(ownStatement, [JSON.stringify([...latest.values()])]);
}

/** The results of a job, as its payload carries them. */
interface Results {
  owned: OwnedDevice[];
  refused: string[];
}

/** Finds out who visitors are, in sets of commands of the contact service that take effect once each. A refused command stops no other. */
export function identification(database: Database, log: Log, upstreams: Upstreams): JobOptions {
  const contacts = upstreams.client("contact", ContactCommandService);
  return {
    database,
    log,
    jobs,
    atOnce: LANES_AT_ONCE,
    async prepare(job) {
      const { tasks } = job.payload as unknown as { tasks: Task[] };
      const outcomes = await commandContacts({ contacts, actor }, tasks.map(commandOf));
      const results: Results = { owned: [], refused: [] };
      for (const [index, { deviceId, mergedId, key }] of tasks.entries()) {
        const { contactId, isFound, message } = outcomes[index] ?? { contactId: 0, message: "" };
        if (!contactId) results.refused.push(`${key}: ${message}`);
        // A merge follows the device, which may have gone on since.
        else if (mergedId === undefined)
          results.owned.push({ deviceId, contactId, isFound: isFound === true });
      }
      return { ...job, payload: { ...job.payload, ...results } };
    },
    async work(transaction, { payload }) {
      const { owned, refused } = payload as unknown as Results;
      ownDevices(transaction, owned);
      if (refused.length === 0) return { state: "done" };
      log.warn({ refused }, "visitors could not be identified");
      return { state: "set_aside", reason: refused.join("; ").slice(0, REASON_LENGTH_MAX) };
    },
  };
}

const REASON_LENGTH_MAX = 1_000;

function commandOf({ key, contactId, ...task }: Task): MessageInitShape<typeof ContactCommandSchema> {
  return { key: `visitor:${key}`, contactId, effect: { case: "identify", value: effectOf(task) } };
}

function effectOf({
  values,
  tags,
  newContactId,
  mergedId,
  proof,
  deviceId,
}: Omit<Task, "contactId" | "key">): MessageInitShape<typeof IdentifyContactSchema> {
  const said = values && jsonBytes(values);
  return {
    // No two fields have one alias, of contacts and companies together: each takes its own.
    ...(said && { values: said, companyValues: said }),
    isPublic: true,
    tags: tags ?? "",
    newContactId: newContactId ?? 0,
    ...(mergedId !== undefined && { mergedId }),
    proof,
    deviceId,
  };
}
