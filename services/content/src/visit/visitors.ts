import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { prepared } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import type { Transaction } from "@tidings/database/transaction";
import { factEvents } from "@tidings/messaging/fact-events";
import type { DomainEvent } from "@tidings/messaging/outbox";
import { contactsByFate } from "@tidings/projection/contact-fates";
import { VisitorsSeenSchema } from "@tidings/proto/tidings/content/v1/events";
import { jsonBytes } from "@tidings/resource/json-member";
import type { ContactIds } from "./contact-ids.ts";
import { planMerges } from "./identify.ts";

/** How a visitor came, by the parameters of the address. */
export interface Utm {
  campaign: string;
  content: string;
  medium: string;
  source: string;
  term: string;
}

/** A browser that was seen. */
export interface Sighting {
  deviceId: string;
  /** Made for this visit: nobody had it before. */
  isNewDevice: boolean;
  at: number;
  ip: string;
  userAgent: string;
  timeZone: string;
  locale: string;
  utm?: Utm | undefined;
  /** The address that the visitor came to, with its parameters. */
  url: string;
  referer: string;
  remoteHost: string;
  query: Record<string, string>;
  /** The hit that this visit is, when it is one. */
  hitId?: string | undefined;
  /** The contact that a signed link proves the visitor to be. */
  provenContactId?: number | undefined;
}

/** A visitor, as the visits before have left them. */
export interface Visitor {
  contactId: number;
  /** The id that answers say: that of the contact, once the visitor has proven to be that one. */
  shownContactId: number;
  isProven: boolean;
  /** The contact begins with this visit. */
  isNew: boolean;
  /** The latest hit before. */
  previousHitId: string | undefined;
}

const columns = "id text, contact_id integer, last_seen timestamptz, last_hit_id uuid";
const answer = "d.id, d.contact_id, d.shown_contact_id, d.is_proven, d.previous_hit_id";
/** The latest hit moves on; a sighting that is no hit leaves it as it is. */
const moved = `contact_id = coalesce((select f.merged_into_id from contact_fates f where f.contact_id = d.contact_id), d.contact_id),
   last_seen = greatest(d.last_seen, x.last_seen), previous_hit_id = case when x.last_hit_id is null then d.previous_hit_id else d.last_hit_id end,
   last_hit_id = coalesce(x.last_hit_id, d.last_hit_id)`;
/** Ids are sought as arrays: the planner takes a JSON list for a hundred rows, and would read all of the table for a few browsers. */
const seeStatement = prepared(
  "visitor_devices_see",
  `with x as materialized (select * from json_to_recordset($1::json) as x (${columns})),
     locked as materialized (
       select d.id from visitor_devices d where d.id = any (array(select id from x)) order by d.id for update of d)
   update visitor_devices d set ${moved} from x where d.id = x.id and d.id = any (array(select id from locked))
   returning ${answer}`,
);
const addStatement = prepared(
  "visitor_devices_add",
  `insert into visitor_devices as d (id, contact_id, shown_contact_id, last_seen, last_hit_id)
   select x.id, x.contact_id, x.contact_id, x.last_seen, x.last_hit_id from json_to_recordset($1::json) as x (${columns})
   order by x.id
   on conflict (id) do update set last_seen = greatest(d.last_seen, excluded.last_seen),
     previous_hit_id = d.last_hit_id, last_hit_id = coalesce(excluded.last_hit_id, d.last_hit_id)
   returning ${answer}`,
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
): Promise<{ visitors: Map<string, Visitor>; events: DomainEvent[] }> {
  if (sightings.length === 0) return { visitors: new Map(), events: [] };
  const latest = new Map(sightings.map((sighting) => [sighting.deviceId, sighting]));
  const known = [...latest.values()].filter(({ isNewDevice }) => !isNewDevice);
  contactsByFate.hold(transaction, []);
  if (known.length > 0) transaction.execute(forgetStatement, [known.map(({ deviceId }) => deviceId)]);
  const seen =
    known.length > 0
      ? await transaction.query(seeStatement, [JSON.stringify(known.map((sighting) => rowOf(sighting)))])
      : [];
  const visitors = new Map(seen.map((row) => [row.id ?? "", visitorOf(row, false)]));
  const unknown = [...latest.values()].filter(({ deviceId }) => !visitors.has(deviceId));
  if (unknown.length > 0) {
    const contactIds = await ids.take(unknown.length);
    const rows = unknown.map((sighting, index) => rowOf(sighting, contactIds[index]));
    const wanted = new Map(rows.map(({ id, contact_id }) => [id, contact_id]));
    for (const row of await transaction.query(addStatement, [JSON.stringify(rows)]))
      visitors.set(row.id ?? "", visitorOf(row, Number(row.contact_id) === wanted.get(row.id ?? "")));
  }
  await prove(transaction, visitors, [...latest.values()]);
  return { visitors, events: visitorEvents(seenOnce(sightings, visitors)) };
}

/** A sighting, and the contact that it is of. */
interface Seen {
  sighting: Sighting;
  visitor: Pick<Visitor, "contactId" | "isNew">;
}

/** The events of contacts that were seen. */
export function visitorEvents(seen: Seen[]): DomainEvent[] {
  return factEvents(SUBJECT, VisitorsSeenSchema, seen, messageOf);
}

const SUBJECT = "tidings.content.visitor.seen";

function rowOf({ deviceId, at, hitId }: Sighting, contactId?: number) {
  return { id: deviceId, contact_id: contactId, last_seen: new Date(at).toISOString(), last_hit_id: hitId };
}

function visitorOf(row: Row, isNew: boolean): Visitor {
  return {
    contactId: Number(row.contact_id),
    shownContactId: Number(row.shown_contact_id),
    isProven: row.is_proven === "t",
    isNew,
    previousHitId: row.previous_hit_id ?? undefined,
  };
}

/** Proven contacts as they are now: one that was erased proves nothing. */
const proveStatement = prepared(
  "visitor_devices_prove",
  `with proof as (
     select x.id, coalesce(f.merged_into_id, x.contact_id) as contact_id
     from json_to_recordset($1::json) as x (id text, contact_id integer) left join contact_fates f on f.contact_id = x.contact_id
     where f.contact_id is null or f.merged_into_id is not null)
   update visitor_devices d set contact_id = p.contact_id, shown_contact_id = p.contact_id, is_proven = true
   from proof p where d.id = p.id and (not d.is_proven or d.contact_id <> p.contact_id) returning d.id, d.contact_id`,
);

/** A visitor with a signed link is the contact that it was signed for, and was so before: what the device had begun is merged in. */
async function prove(
  transaction: Transaction,
  visitors: Map<string, Visitor>,
  sightings: Sighting[],
): Promise<void> {
  const proofs = sightings.flatMap(({ deviceId, provenContactId }) => {
    const visitor = visitors.get(deviceId);
    const isNews = visitor && (!visitor.isProven || visitor.contactId !== provenContactId);
    return provenContactId !== undefined && isNews ? [{ id: deviceId, contact_id: provenContactId }] : [];
  });
  if (proofs.length === 0) return;
  const merges: { contactId: number; mergedId: number }[] = [];
  for (const row of await transaction.query(proveStatement, [JSON.stringify(proofs)])) {
    const before = visitors.get(row.id ?? "");
    const contactId = Number(row.contact_id);
    if (before && before.contactId !== contactId && !before.isNew)
      merges.push({ contactId, mergedId: before.contactId });
    if (before)
      visitors.set(row.id ?? "", {
        ...before,
        contactId,
        shownContactId: contactId,
        isProven: true,
        isNew: false,
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

function messageOf(seen: Seen[]) {
  return {
    visitors: seen.map(({ sighting, visitor }) => {
      const { at, ip, deviceId, userAgent, timeZone, locale, utm, url, referer, remoteHost, query } =
        sighting;
      const { contactId, isNew } = visitor;
      return {
        ...{ contactId, isNew, at: timestampFromMs(at), ip, deviceId, userAgent, timeZone, locale },
        ...(utm && { utm: { ...utm, url, referer, remoteHost, query: jsonBytes(query) } }),
      };
    }),
  };
}
