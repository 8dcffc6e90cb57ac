import { create, fromBinary } from "@bufbuild/protobuf";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { backgroundDeadline, joined, prepared } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import type { Transaction } from "@tidings/database/transaction";
import { ContactSchema } from "@tidings/proto/tidings/contact/v1/contact";
import { type VisitorSeen, VisitorsSeenSchema } from "@tidings/proto/tidings/content/v1/events";
import { jsonBytes } from "@tidings/resource/json-member";
import { serviceActor } from "@tidings/rpc/actor";
import type { Call } from "@tidings/rpc/call";
import { addConsents, type NewConsent } from "../belonging/consent.ts";
import { noteDevices } from "../belonging/user-agent.ts";
import { addUtmVisits } from "../belonging/utm-visits.ts";
import { publicAddress } from "../contact/body.ts";
import { noteIdentifications } from "../contact/identifications.ts";
import { addNewContacts } from "../contact/new-contacts.ts";
import { type ContactContext, contactSaver } from "../contact/save.ts";
import { isCountry, isLocale, isRegion, isTimezone } from "../field/places.ts";
import type { AboutContacts } from "./facts.ts";

const visitors = serviceActor("Visitors");

/** A visitor as the contact that they are now. */
interface Visit
  extends Pick<
    VisitorSeen,
    "ip" | "userAgent" | "deviceId" | "proof" | "timeZone" | "locale" | "utm" | "consent"
  > {
  contactId: number;
  at: number;
}

/** Contacts as they were seen on the web: new ones begin, and of all of them it is kept when, where and with what they were there. */
export function visits(context: ContactContext): AboutContacts {
  return {
    owner: "content",
    subjects: ["tidings.content.visitor.seen"],
    // It changes without an event: a contact that was seen was not edited.
    table: "last_active",
    async keep(transaction, events) {
      const seen = events
        .flatMap(({ payload }) => fromBinary(VisitorsSeenSchema, payload).visitors)
        // Other addresses identify nobody.
        .map((visitor) => ({ ...visitor, ip: publicAddress(visitor.ip) ?? "" }));
      const { contact: set } = await context.catalogues.latest();
      const beginning = seen.filter(({ isNew }) => isNew);
      await addNewContacts(
        context,
        { transaction, set },
        beginning.map(({ contactId, at }) => ({ id: contactId, at: at ? timestampMs(at) : Date.now() })),
      );
      const within = { ...context, database: joined(context.database, transaction) };
      const found = await touch(transaction, seen);
      const call = callOf();
      await complete(within, found, call);
      await noteDevices(
        within,
        transaction,
        found.visits.filter(({ userAgent }) => userAgent !== ""),
        call,
      );
      noteIdentifications(
        transaction,
        found.visits.filter(({ proof }) => proof !== ""),
      );
      await addConsents(transaction, found.visits.flatMap(consentOf));
      await addUtmVisits(transaction, { set, outbox: context.outbox }, found.visits);
      return [...new Set(found.visits.map(({ contactId }) => contactId))];
    },
  };
}

/** The answer to the question for consent that came with a visit. */
function consentOf({ contactId, at, consent }: Visit): NewConsent[] {
  return consent ? [{ contactId, at, given: consent.given, by: "script", where: consent.url }] : [];
}

function callOf(): Call {
  return { actor: visitors, deadlineMs: backgroundDeadline(), requestId: "", reach: () => "all" };
}

/**
 * When each contact was last active, in one statement; and what is not known of it yet. Contacts are sought by an array of ids: for a
 * JSON list, which it takes for a hundred rows, the planner would read all of them.
 */
const touchStatement = prepared(
  "contacts_touch",
  `with sent as (
     select x.id, coalesce(r.contact_id, x.id) as contact_id, x.at, x.ip
     from json_to_recordset($1::json) as x (id integer, at timestamptz, ip text)
     left join contact_redirects r on r.merged_id = x.id),
   latest as (select contact_id, max(at) as at from sent group by contact_id),
   locked as materialized (
     select c.id from contacts c where c.id = any (array(select contact_id from latest)) order by c.id for update of c),
   touched as (
     update contacts c set last_active = greatest(c.last_active, date_trunc('second', l.at))
     from latest l where c.id = l.contact_id and c.id = any (array(select id from locked))
     returning c.id, c.timezone, c.preferred_locale, c.country, c.state, c.city, c.zipcode, c.ip_address_ids)
   select s.id as seen_id, t.id as contact_id, s.ip, t.timezone, t.preferred_locale, t.country, t.state, t.city, t.zipcode,
     s.ip <> '' and not exists (
       select from ip_addresses i where i.ip_address = s.ip and i.id = any (t.ip_address_ids)) as needs_ip
   from sent s join touched t on t.id = s.contact_id`,
);

interface Found {
  visits: Visit[];
  /** Values that contacts lack, by their ids. */
  lacking: Map<number, { ip: string; values: Record<string, string> }>;
}

async function touch(transaction: Transaction, seen: VisitorSeen[]): Promise<Found> {
  const sent = new Map<string, { id: number; at: string; ip: string }>();
  for (const { contactId: id, at, ip } of seen)
    sent.set(`${id} ${ip}`, { id, at: new Date(at ? timestampMs(at) : Date.now()).toISOString(), ip });
  const rows = await transaction.query(touchStatement, [JSON.stringify([...sent.values()])]);
  const bySeen = new Map(rows.map((row) => [`${row.seen_id} ${row.ip}`, row]));
  const found: Found = { visits: [], lacking: new Map() };
  for (const visit of seen) {
    const row = bySeen.get(`${visit.contactId} ${visit.ip}`);
    if (!row) continue;
    const contactId = Number(row.contact_id);
    const { ip, at } = visit;
    found.visits.push({ ...visit, contactId, at: at ? timestampMs(at) : Date.now() });
    const before = found.lacking.get(contactId);
    found.lacking.set(contactId, {
      ip: row.needs_ip === "t" ? ip : (before?.ip ?? ""),
      values: { ...before?.values, ...missingValues(visit, row) },
    });
  }
  return found;
}

/** Values of a visit that the contact has none of. The place of an address in one country says nothing of a contact in another. */
function missingValues({ timeZone, locale, place }: VisitorSeen, row: Row): Record<string, string> {
  const isElsewhere = Boolean(row.country) && row.country !== place?.country;
  const located = isElsewhere ? undefined : place;
  const { country = "", region = "", city = "", zipcode = "", timeZone: placeZone = "" } = located ?? {};
  const zone = isTimezone(timeZone) ? timeZone : placeZone;
  const known = {
    timezone: isTimezone(zone) ? zone : "",
    preferred_locale: isLocale(locale) ? locale : "",
    country: isCountry(country) ? country : "",
    state: isRegion(region) ? region : "",
    city,
    zipcode,
  };
  return Object.fromEntries(Object.entries(known).filter(([name, value]) => value !== "" && !row[name]));
}

/** Writes what contacts lack, each with an event. */
async function complete(context: ContactContext, { lacking }: Found, call: Call): Promise<void> {
  const requests = [...lacking].flatMap(([id, { ip, values }]) => {
    if (ip === "" && Object.keys(values).length === 0) return [];
    return [{ id, message: create(ContactSchema, { values: jsonBytes(values), ipAddress: ip }) }];
  });
  if (requests.length > 0) await contactSaver(context).many(requests, call);
}
