import { type DescMessage, fromBinary, type MessageShape } from "@bufbuild/protobuf";
import { type Timestamp, timestampDate } from "@bufbuild/protobuf/wkt";
import type { Event } from "@tidings/bus/event";
import { newestEvents } from "@tidings/projection/newest";
import type { Projection } from "@tidings/projection/projection";
import { CampaignMembershipChangedSchema } from "@tidings/proto/tidings/campaign/v1/events";
import {
  AssetDownloadedSchema,
  CategorySubscriptionChangedSchema,
  EmailOpenedSchema,
  EmailQueuedSchema,
  EmailSentSchema,
  NotificationSentSchema,
  PageHitSchema,
  PushSubscribedSchema,
  PushUnsubscribedSchema,
  SmsSentSchema,
} from "@tidings/proto/tidings/content/v1/events";
import { prepared } from "@tidings/store/database";

/** What neighbours tell of contacts, by the table that keeps it: segments know it by this name. */
export const facts: Fact[] = [
  fact("tidings.content.email.queued", "email_sends", EmailQueuedSchema, {
    row: ({ sendId, emailId, dateQueued }) => ({
      id: sendId,
      email_id: emailId,
      date_queued: iso(dateQueued),
    }),
    columns: "id uuid, email_id integer, date_queued timestamptz",
    writes: `kept as (insert into email_sends (id, contact_id, email_id, date_queued)
        select id, contact_id, min(email_id), min(date_queued) from fresh group by id, contact_id order by id
        on conflict (id) do update set date_queued = coalesce(email_sends.date_queued, excluded.date_queued))`,
  }),
  fact("tidings.content.email.sent", "email_sends", EmailSentSchema, {
    row: ({ sendId, emailId, dateSent }) => ({ id: sendId, email_id: emailId, date_sent: iso(dateSent) }),
    columns: "id uuid, email_id integer, date_sent timestamptz",
    writes: `kept as (insert into email_sends (id, contact_id, email_id, date_sent)
        select id, contact_id, min(email_id), min(date_sent) from fresh group by id, contact_id order by id
        on conflict (id) do update set date_sent = coalesce(email_sends.date_sent, excluded.date_sent))`,
  }),
  fact("tidings.content.email.opened", "email_sends", EmailOpenedSchema, {
    row: ({ sendId, emailId, dateRead, readCount }) => ({
      id: sendId,
      email_id: emailId,
      date_read: iso(dateRead),
      read_count: readCount,
    }),
    columns: "id uuid, email_id integer, date_read timestamptz, read_count integer",
    writes: `kept as (insert into email_sends (id, contact_id, email_id, date_read, read_count)
        select id, contact_id, min(email_id), min(date_read), max(read_count) from fresh group by id, contact_id
        order by id
        on conflict (id) do update set date_read = least(email_sends.date_read, excluded.date_read),
          read_count = greatest(email_sends.read_count, excluded.read_count))`,
  }),
  fact("tidings.content.page.hit", "page_hits", PageHitSchema, {
    row: (hit) => ({
      id: hit.hitId,
      date_hit: iso(hit.dateHit),
      url: hit.url,
      url_title: hit.urlTitle,
      referer: hit.referer,
      source: hit.source,
      source_id: hit.sourceId,
      page_id: hit.pageId,
      redirect_id: hit.redirectId,
      email_id: hit.emailId,
    }),
    columns: `id uuid, date_hit timestamptz, url text, url_title text, referer text, source text, source_id integer,
        page_id integer, redirect_id integer, email_id integer`,
    writes: `kept as (insert into page_hits
          (id, contact_id, date_hit, url, url_title, referer, source, source_id, page_id, redirect_id, email_id)
        select id, contact_id, date_hit, nullif(url, ''), nullif(url_title, ''), nullif(referer, ''),
          nullif(source, ''), source_id, page_id, redirect_id, email_id from fresh
        on conflict do nothing)`,
  }),
  fact("tidings.content.asset.downloaded", "asset_downloads", AssetDownloadedSchema, {
    row: ({ downloadId, assetId, dateDownloaded }) => ({
      id: downloadId,
      asset_id: assetId,
      date_added: iso(dateDownloaded),
    }),
    columns: "id uuid, asset_id integer, date_added timestamptz",
    writes: `kept as (insert into asset_downloads (id, contact_id, asset_id, date_added)
        select id, contact_id, asset_id, date_added from fresh on conflict do nothing)`,
  }),
  fact("tidings.content.sms.sent", "sms_sends", SmsSentSchema, {
    row: ({ sendId, smsId, dateSent }) => ({ id: sendId, sms_id: smsId, date_added: iso(dateSent) }),
    columns: "id uuid, sms_id integer, date_added timestamptz",
    writes: `kept as (insert into sms_sends (id, contact_id, sms_id, date_added)
        select id, contact_id, sms_id, date_added from fresh on conflict do nothing)`,
  }),
  fact("tidings.content.notification.sent", "notification_sends", NotificationSentSchema, {
    row: ({ sendId, notificationId, isMobile, dateSent }) => ({
      id: sendId,
      notification_id: notificationId,
      is_mobile: isMobile,
      date_added: iso(dateSent),
    }),
    columns: "id uuid, notification_id integer, is_mobile boolean, date_added timestamptz",
    writes: `kept as (insert into notification_sends (id, contact_id, notification_id, is_mobile, date_added)
        select id, contact_id, notification_id, is_mobile, date_added from fresh on conflict do nothing)`,
  }),
  fact("tidings.content.push.subscribed", "push_ids", PushSubscribedSchema, {
    revocable: "push",
    row: ({ pushId }) => ({ push_id: pushId }),
    columns: "push_id text",
    writes: `kept as (insert into push_ids (contact_id, push_id) select contact_id, push_id from fresh
        on conflict do nothing)`,
  }),
  fact("tidings.content.push.unsubscribed", "push_ids", PushUnsubscribedSchema, {
    revocable: "push",
    row: ({ pushId }) => ({ push_id: pushId }),
    columns: "push_id text",
    writes: `kept as (delete from push_ids p using fresh f where p.contact_id = f.contact_id and p.push_id = f.push_id)`,
  }),
  fact(
    "tidings.content.category.subscription_changed",
    "contact_categories",
    CategorySubscriptionChangedSchema,
    {
      revocable: "category_subscription",
      row: ({ categoryId, isSubscribed }) => ({ category_id: categoryId, is_subscribed: isSubscribed }),
      columns: "category_id integer, is_subscribed boolean",
      writes: `latest as (
            select distinct on (contact_id, category_id) * from fresh order by contact_id, category_id, position desc),
          dropped as (
            delete from contact_categories k using latest l
            where k.contact_id = l.contact_id and k.category_id = l.category_id and not l.is_subscribed),
          added as (
            insert into contact_categories (contact_id, category_id)
            select contact_id, category_id from latest where is_subscribed on conflict do nothing)`,
    },
  ),
  fact("tidings.campaign.campaign.membership_changed", "campaign_contacts", CampaignMembershipChangedSchema, {
    row: ({ campaignId, dateAdded, manuallyAdded, manuallyRemoved }, { aggregateVersion }) => ({
      campaign_id: campaignId,
      version: aggregateVersion,
      date_added: iso(dateAdded),
      manually_added: manuallyAdded,
      manually_removed: manuallyRemoved,
    }),
    columns: `campaign_id integer, version integer, date_added timestamptz, manually_added boolean,
          manually_removed boolean`,
    writes: `kept as (insert into campaign_contacts
            (campaign_id, contact_id, version, date_added, manually_added, manually_removed)
          select distinct on (campaign_id, contact_id) campaign_id, contact_id, version, date_added, manually_added,
            manually_removed from fresh order by campaign_id, contact_id, version desc
          on conflict (campaign_id, contact_id) do update set version = excluded.version,
            manually_added = excluded.manually_added, manually_removed = excluded.manually_removed
          where campaign_contacts.version < excluded.version)`,
  }),
];

/** Changes what is known of contacts: the ids it answers are theirs. */
export interface Fact extends Projection {
  table: string;
}

interface Keeping<S extends DescMessage> {
  revocable?: string;
  row(message: MessageShape<S>, event: Event): object;
  /** Of the rows, beside the contact. */
  columns: string;
  /** Common table expressions that write what is in `fresh`: the rows with the contact they are about now. */
  writes: string;
}

/**
 * A merge of these contacts waits for us, or we for it: what it moves meanwhile is not there to be changed. Then the next
 * statement finds the survivor.
 */
const awaitMergesStatement = prepared(
  "project_await_merges",
  `select from contacts c where c.id in (
     select coalesce(r.contact_id, t.id) from unnest($1::integer[]) as t (id)
     left join contact_redirects r on r.merged_id = t.id)
   order by c.id for key share of c`,
);

/** Of facts that are taken back by later ones only the latest counts. What is of contacts that are gone is left out. */
function fact<S extends DescMessage & { field: { contactId: unknown } }>(
  subject: string,
  table: string,
  schema: S,
  { revocable, row, columns, writes }: Keeping<S>,
): Fact {
  const [, owner = ""] = subject.split(".");
  const statement = prepared(
    `keep ${schema.typeName}`,
    `with sent as (
      select ordinality as position, x.* from rows from (
        json_to_recordset($1::json) as (contact_id integer, ${columns})) with ordinality as x),
    fresh as (
      select c.id as contact_id, s.position, ${columnNames(columns)} from sent s
      left join contact_redirects r on r.merged_id = s.contact_id
      join contacts c on c.id = coalesce(r.contact_id, s.contact_id)),
    ${writes}
    select distinct contact_id from fresh`,
  );
  const rowOf = (event: Event) => {
    const message = fromBinary(schema, event.payload);
    const { contactId } = message as MessageShape<S> & { contactId: number };
    return { contact_id: contactId, ...row(message, event) };
  };
  return {
    owner,
    table,
    subjects: [subject],
    async keep(transaction, events) {
      const latest = revocable ? await newestEvents(transaction, revocable, events) : events;
      const rows = latest.map(rowOf);
      transaction.execute(awaitMergesStatement, [rows.map(({ contact_id }) => contact_id)]);
      const touched = await transaction.query(statement, [JSON.stringify(rows)]);
      return touched.map(({ contact_id }) => Number(contact_id));
    },
  };
}

function columnNames(columns: string): string {
  return columns
    .split(",")
    .map((column) => `s.${column.trim().split(/\s/, 1)[0]}`)
    .join(", ");
}

function iso(time: Timestamp | undefined): string | null {
  return time ? timestampDate(time).toISOString() : null;
}
