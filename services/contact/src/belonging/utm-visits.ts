import { prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import type { Outbox } from "@tidings/messaging/outbox";
import type { UtmTags } from "@tidings/proto/tidings/content/v1/events";
import { parseJson } from "@tidings/resource/json-member";
import { appendUpdated } from "../company/updated-contacts.ts";
import type { FieldSet } from "../field/catalogue.ts";
import { keepLatest } from "../rows/keep-latest.ts";
import { UTM_KEPT_MAX } from "./utm-tags.ts";

/** A visit that came by some campaign. */
interface UtmVisit {
  contactId: number;
  at: number;
  userAgent: string;
  utm?: UtmTags | undefined;
}

const insertStatement = prepared(
  "utm_tags_of_visits",
  `with added as (
     insert into utm_tags (contact_id, date_added, utm_campaign, utm_content, utm_medium, utm_source, utm_term, url, referer,
       query, remote_host, user_agent)
     select x.contact_id, x.date_added, x.campaign, x.content, x.medium, x.source, x.term, x.url, x.referer, x.query,
       x.remote_host, x.user_agent
     from json_to_recordset($1::json) as x (contact_id integer, date_added timestamptz, campaign text, content text, medium text,
       source text, term text, url text, referer text, query jsonb, remote_host text, user_agent text)
     returning contact_id),
   contact as (select distinct contact_id as id from added)
   update contacts c set has_utm_tags = true, version = c.version + 1 from contact where c.id = contact.id returning c.id`,
);
const trimStatement = keepLatest("utm_tags", "id desc", UTM_KEPT_MAX);

/** Records how visitors came, as a part of the transaction, with an event for each contact. The latest ones are kept. */
export async function addUtmVisits(
  transaction: Transaction,
  { set, outbox }: { set: FieldSet; outbox: Outbox },
  visits: UtmVisit[],
): Promise<void> {
  const rows = visits.flatMap(({ contactId, at, userAgent, utm }) => {
    if (!utm) return [];
    const { campaign, content, medium, source, term, url, referer, query, remoteHost } = utm;
    const texts = nulled({ campaign, content, medium, source, term, url, referer, remote_host: remoteHost });
    const dateAdded = new Date(at).toISOString();
    return [
      { contact_id: contactId, date_added: dateAdded, ...texts, user_agent: userAgent, query: jsonOf(query) },
    ];
  });
  if (rows.length === 0) return;
  const changed = await transaction.query(insertStatement, [JSON.stringify(rows)]);
  const ids = changed.map(({ id }) => Number(id));
  transaction.execute(trimStatement, [ids]);
  await appendUpdated(
    transaction,
    { set, outbox },
    new Map(ids.map((id) => [id, { changed: ["utm_tags"] }])),
  );
}

/** No text is none. */
function nulled(texts: Record<string, string>): Record<string, string | null> {
  return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, text || null]));
}

function jsonOf(query: Uint8Array): unknown {
  return query.length > 0 ? parseJson(query) : {};
}
