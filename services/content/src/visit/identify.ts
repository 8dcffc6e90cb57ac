import type { MessageInitShape } from "@bufbuild/protobuf";
import { type Database, prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import { jobsOf, type NewJob } from "@tidings/jobs/jobs";
import type { JobOptions } from "@tidings/jobs/run-jobs";
import {
  type CommandOutcome,
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
import { giveBackProofs, withholdProofs } from "./withheld-proofs.ts";

/** Values that a page sent of its visitor with a hit. */
export interface SaidOfVisitor {
  /** Names the hit, or what completed it. */
  occasion: string;
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
  const tasks = said.map(({ occasion, ...task }) => ({ ...task, key: occasion }));
  // Tags alone find nobody.
  withholdProofs(
    transaction,
    tasks.filter(({ values }) => Object.keys(values).length > 0),
  );
  plan(transaction, tasks);
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

/** The devices are locked in the order of their ids, as by all who change several. Those of `others` lose their proof. */
const owning = ({ others = "", isDisproved = "x.is_found" }) =>
  `with x as materialized (select * from json_to_recordset($1::json) as x (device_id text, contact_id integer, is_found boolean)),
     locked as materialized (
       select d.id from visitor_devices d where d.id = any (array(select device_id from x ${others}))
       order by d.id for update of d)
   update visitor_devices d set contact_id = coalesce(x.contact_id, d.contact_id), is_proven = d.is_proven and not ${isDisproved}
   from locked left join x on x.device_id = locked.id
   where d.id = locked.id and (d.contact_id <> x.contact_id or d.is_proven and ${isDisproved})`;
const ownStatement = prepared("visitor_devices_own", owning({}));
/** A statement of its own: it is planned anew each time, which takes longer than giving a device to its contact. */
const ownMergedStatement = prepared(
  "visitor_devices_own_merged",
  owning({
    others: `union select o.id from visitor_devices o
         where o.contact_id = any ($2::integer[]) and o.shown_contact_id = any ($3::integer[]) and o.is_proven`,
    isDisproved: "coalesce(x.is_found, d.shown_contact_id = any ($3::integer[]))",
  }),
);

/** The contact that the visitor of a device turned out to be. */
export interface OwnedDevice {
  /** The key of the search. */
  key: string;
  deviceId: string;
  contactId: number;
  /** It was found by what was said, and is not proven by that. */
  isFound: boolean;
  /** It is not what the visitor's contact was merged with. */
  isApart: boolean;
}

/**
 * Ends searches, and gives devices to the contacts that their visitors turned out to be. Where one was merged with the contact that the visitor had been,
 * all devices of the latter lose their proof: none of them made that one, or showed a link of it.
 */
export async function ownDevices(
  transaction: Transaction,
  owned: OwnedDevice[],
  refusedKeys: string[] = [],
): Promise<void> {
  const withheld = await giveBackProofs(transaction, [...owned.map(({ key }) => key), ...refusedKeys]);
  const merged = owned.filter(({ isFound, isApart }) => isFound && !isApart);
  const before = merged.flatMap(({ key }) => withheld.get(key) ?? []);
  const rows = [...Map.groupBy(owned, ({ deviceId }) => deviceId)].map(([deviceId, ofDevice]) => ({
    device_id: deviceId,
    contact_id: ofDevice.at(-1)?.contactId,
    is_found: ofDevice.some(({ isFound }) => isFound),
  }));
  if (rows.length === 0) return;
  const contacts = [...before, ...merged.map(({ contactId }) => contactId)];
  if (before.length === 0) transaction.execute(ownStatement, [JSON.stringify(rows)]);
  else transaction.execute(ownMergedStatement, [JSON.stringify(rows), contacts, before]);
}

/** The results of a job, as its payload carries them. */
interface Results {
  owned: OwnedDevice[];
  refused: { key: string; reason: string }[];
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
        const outcome = outcomes[index];
        if (!outcome?.contactId) results.refused.push({ key, reason: outcome?.message ?? "" });
        // A merge follows the device, which may have gone on since.
        else if (mergedId === undefined) results.owned.push({ key, deviceId, ...foundIn(outcome) });
      }
      return { ...job, payload: { ...job.payload, ...results } };
    },
    async work(transaction, { payload }) {
      const { owned, refused } = payload as unknown as Results;
      const refusedKeys = refused.map(({ key }) => key);
      await ownDevices(transaction, owned, refusedKeys);
      if (refused.length === 0) return { state: "done" };
      log.warn({ refused }, "visitors could not be identified");
      const reason = refused.map((each) => `${each.key}: ${each.reason}`).join("; ");
      return { state: "set_aside", reason: reason.slice(0, REASON_LENGTH_MAX) };
    },
  };
}

function foundIn({ contactId, isFound, isApart }: CommandOutcome) {
  return { contactId, isFound, isApart };
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
