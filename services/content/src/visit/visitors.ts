import { prepared } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import type { Transaction } from "@tidings/database/transaction";
import type { DomainEvent } from "@tidings/messaging/outbox";
import { contactsByFate } from "@tidings/projection/contact-fates";
import type { ContactIds } from "./contact-ids.ts";
import { keysOf, repeatedAmong, withKeys } from "./fact-key.ts";
import { type Merge, planMerges } from "./identify.ts";
import { promisedIds } from "./promised-visitors.ts";
import type { Proof, Sighting, Visitor } from "./sighting.ts";
import { visitorEvents } from "./visitor-events.ts";
import { HAS_PROOF } from "./withheld-proofs.ts";

const columns = `id text, contact_id integer, shown_contact_id integer, is_proven boolean, last_seen timestamptz, last_hit_id uuid,
   is_consenting boolean, ip text, keys bigint[]`;
const answer = `d.id, d.contact_id, d.shown_contact_id, d.is_proven, ${HAS_PROOF} as has_proof, d.previous_hit_id, to_json(d.recent_keys) as recent_keys`;
/** The latest hit moves on; a sighting that is no hit leaves it as it is. */
const moved = `contact_id = coalesce((select f.merged_into_id from contact_fates f where f.contact_id = d.contact_id), d.contact_id),
   last_seen = greatest(d.last_seen, x.last_seen), previous_hit_id = case when x.last_hit_id is null then d.previous_hit_id else d.last_hit_id end,
   last_hit_id = coalesce(x.last_hit_id, d.last_hit_id), has_consented = d.has_consented or x.is_consenting,
   recent_keys = ${withKeys("d.recent_keys", "x.keys")}`;
/** Ids are sought as arrays: the planner takes a JSON list for a hundred rows, and would read all of the table for a few browsers. */
const seeStatement = prepared(
  "visitor_devices_see",
  `with x as materialized (select * from json_to_recordset($1::json) as x (${columns})),
     locked as materialized (
       select d.id, d.has_consented from visitor_devices d where d.id = any (array(select id from x)) order by d.id for update of d)
   update visitor_devices d set ${moved} from x join locked on locked.id = x.id
   where d.id = x.id and d.id = any (array(select id from locked))
   returning ${answer}, x.is_consenting and not locked.has_consented as is_agreeing`,
);
const addStatement = prepared(
  "visitor_devices_add",
  `insert into visitor_devices as d
     (id, contact_id, shown_contact_id, is_proven, last_seen, last_hit_id, has_consented, ip, recent_keys)
   select x.id, x.contact_id, x.shown_contact_id, x.is_proven, x.last_seen, x.last_hit_id, x.is_consenting, x.ip, x.keys
   from json_to_recordset($1::json) as x (${columns})
   order by x.id
   on conflict (id) do update set last_seen = greatest(d.last_seen, excluded.last_seen),
     previous_hit_id = d.last_hit_id, last_hit_id = coalesce(excluded.last_hit_id, d.last_hit_id),
     recent_keys = ${withKeys("d.recent_keys", "excluded.recent_keys")}
   returning ${answer}`,
);

/** The contact of the browser that came from an address last. */
const atAddressStatement = prepared(
  "visitor_devices_at_address",
  `select x.ip, d.contact_id from (select distinct unnest($1::text[]) as ip) x cross join lateral (
     select coalesce(f.merged_into_id, d.contact_id) as contact_id
     from visitor_devices d left join contact_fates f on f.contact_id = d.contact_id
     where d.ip = x.ip and (f.contact_id is null or f.merged_into_id is not null)
     order by d.date_added desc limit 1) d`,
);

/** Devices of contacts that were erased begin anew. */
const forgetStatement = prepared(
  "visitor_devices_forget",
  `delete from visitor_devices d using contact_fates f
   where d.id = any ((select $1::text[])::text[]) and f.contact_id = d.contact_id and f.merged_into_id is null`,
);

/**
 * Notes browsers that were seen, each once, in the transaction of what was seen, and answers who they are: a device that nobody knows begins a
 * contact, one even of many first visits at once. The event of the sightings goes before those of the facts.
 */
export async function seeVisitors(
  transaction: Transaction,
  ids: ContactIds,
  sightings: Sighting[],
): Promise<SeenVisitors> {
  if (sightings.length === 0) return { visitors: new Map(), events: [], repeated: new Set() };
  const byDevice = Map.groupBy(sightings, ({ deviceId }) => deviceId);
  const latest = new Map(sightings.map((sighting) => [sighting.deviceId, sighting]));
  const known = [...latest.values()].filter(({ isNewDevice }) => !isNewDevice);
  const toRow = (sighting: Sighting) => rowOf(sighting, byDevice.get(sighting.deviceId) ?? []);
  contactsByFate.hold(transaction, []);
  if (known.length > 0) transaction.execute(forgetStatement, [known.map(({ deviceId }) => deviceId)]);
  const seen =
    known.length > 0 ? await transaction.query(seeStatement, [JSON.stringify(known.map(toRow))]) : [];
  const met = new Map(seen.map((row) => [row.id ?? "", metOf(row, "")]));
  const unknown = [...latest.values()].filter(({ deviceId }) => !met.has(deviceId));
  for (const [id, begun] of await begin(transaction, ids, unknown, toRow)) met.set(id, begun);
  const repeated = new Set(
    [...met].flatMap(([id, { recentKeys }]) => repeatedAmong(byDevice.get(id) ?? [], recentKeys)),
  );
  takeBack(transaction, byDevice, repeated);
  const visitors = new Map([...met].map(([id, { visitor }]) => [id, visitor]));
  await prove(transaction, visitors, sightings);
  const others = sightings.filter((sighting) => !repeated.has(sighting));
  return { visitors, events: visitorEvents(seenOnce(others, visitors)), repeated };
}

/** The visitors of sightings. */
interface SeenVisitors {
  /** By the ids of their devices. */
  visitors: Map<string, Visitor>;
  events: DomainEvent[];
  /** Sightings that were recorded before, by their keys. */
  repeated: ReadonlySet<Sighting>;
}

/** A hit that was recorded before is not the latest one again. */
const takeBackStatement = prepared(
  "visitor_devices_take_back",
  `update visitor_devices d set last_hit_id = coalesce(x.last_hit_id, d.previous_hit_id)
   from json_to_recordset($1::json) as x (id text, last_hit_id uuid) where d.id = x.id`,
);

function takeBack(
  transaction: Transaction,
  byDevice: ReadonlyMap<string, Sighting[]>,
  repeated: ReadonlySet<Sighting>,
): void {
  const rows = [...byDevice].flatMap(([id, sightings]) => {
    const latest = sightings.at(-1);
    if (!latest?.hitId || !repeated.has(latest)) return [];
    const hit = sightings.findLast((sighting) => sighting.hitId && !repeated.has(sighting));
    return [{ id, last_hit_id: hit?.hitId }];
  });
  if (rows.length > 0) transaction.execute(takeBackStatement, [JSON.stringify(rows)]);
}

/**
 * Devices that nobody knows: each begins a contact. One that is found by its address is not proven to be that contact's, so that answers say an id
 * that is nobody's.
 */
async function begin(
  transaction: Transaction,
  ids: ContactIds,
  sightings: Sighting[],
  toRow: (sighting: Sighting) => ReturnType<typeof rowOf>,
): Promise<Map<string, Met>> {
  if (sightings.length === 0) return new Map();
  const returned = sightings.flatMap(({ deviceId, isNewDevice }) => (isNewDevice ? [] : deviceId));
  const promised = await promisedIds(transaction, returned);
  const newIds = await ids.take(sightings.length);
  const atAddress = await contactsAt(
    transaction,
    sightings.filter(({ isFoundByAddress }) => isFoundByAddress),
  );
  const rows = sightings.map((sighting, index) => {
    const { deviceId, isFoundByAddress, ip } = sighting;
    const found = isFoundByAddress ? atAddress.get(ip) : undefined;
    const newId = promised.get(deviceId) ?? newIds[index];
    return {
      ...toRow(sighting),
      ...{ contact_id: found ?? newId, shown_contact_id: newId, is_proven: found === undefined },
      ip: isFoundByAddress ? ip || null : null,
    };
  });
  const wanted = new Map(rows.map((row) => [row.id, row]));
  const added = await transaction.query(addStatement, [JSON.stringify(rows)]);
  return new Map(
    added.map((row) => {
      const sent = wanted.get(row.id ?? "");
      const isOurs = Number(row.shown_contact_id) === sent?.shown_contact_id;
      const { visitor, recentKeys } = metOf(row, isOurs ? (sent?.is_proven ? "device" : "address") : "");
      const isAgreeing = isOurs && sent?.is_consenting === true;
      return [row.id ?? "", { visitor: { ...visitor, isAgreeing }, recentKeys }];
    }),
  );
}

async function contactsAt(transaction: Transaction, sightings: Sighting[]): Promise<Map<string, number>> {
  const addresses = sightings.map(({ ip }) => ip).filter((ip) => ip !== "");
  if (addresses.length === 0) return new Map();
  const rows = await transaction.query(atAddressStatement, [addresses]);
  return new Map(rows.map(({ ip, contact_id }) => [ip ?? "", Number(contact_id)]));
}

/** The latest sighting of a device, and the keys of all of its sightings. */
function rowOf({ deviceId, at, hitId, isConsenting = false }: Sighting, all: Sighting[]) {
  const lastSeen = new Date(at).toISOString();
  const latest = { last_seen: lastSeen, last_hit_id: hitId, is_consenting: isConsenting };
  return { id: deviceId, ...latest, keys: keysOf(all) };
}

/** A visitor who was met, and the keys that the device remembers. */
interface Met {
  visitor: Visitor;
  recentKeys: number[];
}

function metOf(row: Row, proof: Proof): Met {
  const visitor = {
    contactId: Number(row.contact_id),
    shownContactId: Number(row.shown_contact_id),
    isProven: row.is_proven === "t",
    mayRead: row.has_proof === "t",
    isNew: proof === "device",
    previousHitId: row.previous_hit_id ?? undefined,
    proof,
    isAgreeing: row.is_agreeing === "t",
  };
  return { visitor, recentKeys: JSON.parse(row.recent_keys ?? "[]") as number[] };
}

/** Proven contacts as they are now: one that was erased proves nothing. */
const proveStatement = prepared(
  "visitor_devices_prove",
  `with proof as (
     select x.id, coalesce(f.merged_into_id, x.contact_id) as contact_id
     from json_to_recordset($1::json) as x (id text, contact_id integer) left join contact_fates f on f.contact_id = x.contact_id
     where f.contact_id is null or f.merged_into_id is not null)
   update visitor_devices d set contact_id = p.contact_id, shown_contact_id = p.contact_id, is_proven = true
   from proof p where d.id = p.id and (not d.is_proven or d.contact_id <> p.contact_id)
   returning d.id, d.contact_id, ${HAS_PROOF} as has_proof`,
);

/** A visitor with a signed link is the contact that the latest one was signed for, and was so before: what the device had begun is merged in. */
async function prove(
  transaction: Transaction,
  visitors: Map<string, Visitor>,
  sightings: Sighting[],
): Promise<void> {
  const proven = new Map(
    sightings.flatMap(({ deviceId, provenContactId }) =>
      provenContactId === undefined ? [] : [[deviceId, provenContactId] as const],
    ),
  );
  const proofs = [...proven].flatMap(([id, contactId]) => {
    const visitor = visitors.get(id);
    const isNews = visitor && (!visitor.isProven || visitor.contactId !== contactId);
    return isNews ? [{ id, contact_id: contactId }] : [];
  });
  if (proofs.length === 0) return;
  const merges: Merge[] = [];
  for (const row of await transaction.query(proveStatement, [JSON.stringify(proofs)])) {
    const before = visitors.get(row.id ?? "");
    const contactId = Number(row.contact_id);
    if (before && before.contactId !== contactId && !before.isNew)
      merges.push({ deviceId: row.id ?? "", contactId, mergedId: before.contactId });
    if (before)
      visitors.set(row.id ?? "", {
        ...before,
        contactId,
        shownContactId: contactId,
        ...{ isProven: true, mayRead: row.has_proof === "t" },
        isNew: false,
        proof: "link",
      });
  }
  planMerges(transaction, merges);
}

/** The latest sighting of each device, and the earlier ones that came by some campaign. */
function seenOnce(sightings: Sighting[], visitors: Map<string, Visitor>) {
  const latest = new Map(sightings.map((sighting) => [sighting.deviceId, sighting]));
  return sightings.flatMap((sighting) => {
    const visitor = visitors.get(sighting.deviceId);
    const isNeeded = sighting.utm !== undefined || latest.get(sighting.deviceId) === sighting;
    return visitor && isNeeded ? [{ sighting, visitor }] : [];
  });
}
