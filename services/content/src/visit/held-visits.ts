import { prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import type { Outbox } from "@tidings/messaging/outbox";
import type { Hit } from "./hit.ts";
import type { Sighting, Visitor } from "./sighting.ts";
import type { VisitFact } from "./visit-fact.ts";

/** Keeps the facts whose verdict is not final, in `mail_clicks`, until it is known whether a person made the click that led to them. */
export type Hold<F extends VisitFact> = (
  transaction: Transaction,
  outbox: Outbox,
  facts: F[],
) => Promise<Sorted<F>>;

/** Facts that arrived. */
export interface Sorted<F> {
  /** Their verdict is final: they are recorded now. */
  judged: F[];
  /** The others have their visitors, whom answers show at once. */
  waiting: ReadonlyMap<F, Visitor>;
}

/** The contact that a link names to its browser, while nothing of the visit is recorded. */
export function waitingVisitor(contactId: number): Visitor {
  return {
    ...{
      contactId,
      shownContactId: contactId,
      isProven: true,
      mayRead: true,
      isNew: false,
      isAgreeing: false,
    },
    ...{ previousHitId: undefined, proof: "", isWaiting: true },
  };
}

const proofsStatement = prepared(
  "mail_clicks_proofs",
  `select distinct on (c.device ->> 'id') c.device ->> 'id' as device_id, c.send_hash, s.contact_id
   from mail_clicks c join sends s on s.hash = c.send_hash
   where c.device ->> 'id' = any ($1::text[]) and coalesce(c.hit, c.download) ? 'provenContactId'
   order by c.device ->> 'id', c.id desc`,
);

/** The mail whose link a browser followed, and its reader. */
export interface HeldProof {
  sendHash: string;
  contactId: number;
}

/** Browsers of which a click says whose they are, while that click waits for its verdict. */
export async function heldProofs(
  transaction: Transaction,
  deviceIds: string[],
): Promise<ReadonlyMap<string, HeldProof>> {
  if (deviceIds.length === 0) return new Map();
  const rows = await transaction.query(proofsStatement, [deviceIds]);
  return new Map(
    rows.map(({ device_id, send_hash, contact_id }) => [
      device_id ?? "",
      { sendHash: send_hash ?? "", contactId: Number(contact_id) },
    ]),
  );
}

/** A sighting with the contact that a waiting click names: for what no machine does. */
export async function withHeldProof(transaction: Transaction, sighting: Sighting): Promise<Sighting> {
  const { deviceId, isNewDevice, provenContactId } = sighting;
  if (isNewDevice || provenContactId !== undefined) return sighting;
  const proof = (await heldProofs(transaction, [deviceId])).get(deviceId);
  return proof ? { ...sighting, provenContactId: proof.contactId } : sighting;
}

const leaveStatement = prepared(
  "mail_clicks_leave",
  `update mail_clicks set hit = jsonb_set(hit, '{leftAt}', to_jsonb($2::float8))
   where id = $1 and hit is not null and not hit ? 'leftAt'`,
);

/** Notes that a visitor left a page whose hit waits, at a time in milliseconds since 1970. The first time stays. */
export function leaveHeld(transaction: Transaction, { id, at }: { id: string; at: number }): void {
  transaction.execute(leaveStatement, [id, at]);
}

const completeStatement = prepared(
  "mail_clicks_complete",
  `update mail_clicks c set hit = c.hit || x.said
     || jsonb_build_object('values', (c.hit -> 'values') || x.values, 'query', (c.hit -> 'query') || x.query)
   from json_to_recordset($1::json) as x (id uuid, said jsonb, values jsonb, query jsonb)
   where c.id = x.id and c.hit is not null returning c.id`,
);

/** Adds what a script says to the hits among these that wait, and answers their ids: it is recorded with them. */
export async function completeHeld(transaction: Transaction, hits: Hit[]): Promise<ReadonlySet<string>> {
  const rows = hits
    .toSorted((one, other) => (one.id < other.id ? -1 : 1))
    .map(({ id, timeZone, locale, tags, values, query }) => ({
      ...{ id, values, query },
      said: { timeZone, locale, tags },
    }));
  const completed = await transaction.query(completeStatement, [JSON.stringify(rows)]);
  return new Set(completed.map(({ id }) => id ?? ""));
}

const forgetStatement = prepared(
  "mail_clicks_forget",
  `update mail_clicks set device = null, hit = hit - 'device', download = download - 'device' where device ->> 'id' = $1`,
);

/** Forgets a browser in what waits: that is counted, and leaves no row. */
export function forgetHeld(transaction: Transaction, deviceId: string): void {
  transaction.execute(forgetStatement, [deviceId]);
}
