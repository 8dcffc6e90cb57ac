import { type DescMessage, fromBinary, type MessageShape } from "@bufbuild/protobuf";
import type { Event } from "@tidings/bus/event";
import { prepared } from "@tidings/database/database";
import { timeOf } from "@tidings/projection/facts";
import { newestEvents } from "@tidings/projection/newest";
import { CampaignMembershipChangedSchema } from "@tidings/proto/tidings/campaign/v1/events";
import {
  CategorySubscriptionChangedSchema,
  PushSubscribedSchema,
  PushUnsubscribedSchema,
} from "@tidings/proto/tidings/content/v1/events";
import { type AboutContacts, contactsNow } from "./facts.ts";

/** Relations of contacts that end and begin again: subscriptions, and memberships in campaigns. */
export const relations: AboutContacts[] = [
  relation("tidings.content.push.subscribed", "push_ids", PushSubscribedSchema, {
    revocable: "push",
    row: ({ pushId }) => ({ push_id: pushId }),
    columns: { push_id: "text" },
    writes: `kept as (insert into push_ids (contact_id, push_id) select contact_id, push_id from fresh
        on conflict do nothing)`,
  }),
  relation("tidings.content.push.unsubscribed", "push_ids", PushUnsubscribedSchema, {
    revocable: "push",
    row: ({ pushId }) => ({ push_id: pushId }),
    columns: { push_id: "text" },
    writes: `kept as (delete from push_ids p using fresh f where p.contact_id = f.contact_id and p.push_id = f.push_id)`,
  }),
  relation(
    "tidings.content.category.subscription_changed",
    "contact_categories",
    CategorySubscriptionChangedSchema,
    {
      revocable: "category_subscription",
      isListed: true,
      row: ({ categoryId, isSubscribed }) => ({ category_id: categoryId, is_subscribed: isSubscribed }),
      columns: { category_id: "integer", is_subscribed: "boolean" },
      writes: `latest as (
            select distinct on (contact_id, category_id) * from fresh order by contact_id, category_id, position desc),
          dropped as (
            delete from contact_categories k using latest l
            where k.contact_id = l.contact_id and k.category_id = l.category_id and not l.is_subscribed),
          added as (
            insert into contact_categories (contact_id, category_id)
            select contact_id, category_id from latest where is_subscribed on conflict do nothing),
          allowed as (
            delete from refused_categories k using latest l
            where k.contact_id = l.contact_id and k.category_id = l.category_id and l.is_subscribed),
          refused as (
            insert into refused_categories (contact_id, category_id)
            select contact_id, category_id from latest where not is_subscribed on conflict do nothing)`,
    },
  ),
  relation(
    "tidings.campaign.campaign.membership_changed",
    "campaign_contacts",
    CampaignMembershipChangedSchema,
    {
      row: ({ campaignId, dateAdded, manuallyAdded, manuallyRemoved }, { aggregateVersion }) => ({
        campaign_id: campaignId,
        version: aggregateVersion,
        date_added: timeOf(dateAdded),
        manually_added: manuallyAdded,
        manually_removed: manuallyRemoved,
      }),
      columns: {
        campaign_id: "integer",
        version: "integer",
        date_added: "timestamptz",
        manually_added: "boolean",
        manually_removed: "boolean",
      },
      writes: `kept as (insert into campaign_contacts
            (campaign_id, contact_id, version, date_added, manually_added, manually_removed)
          select distinct on (campaign_id, contact_id) campaign_id, contact_id, version, date_added, manually_added,
            manually_removed from fresh order by campaign_id, contact_id, version desc
          on conflict (campaign_id, contact_id) do update set version = excluded.version,
            manually_added = excluded.manually_added, manually_removed = excluded.manually_removed
          where campaign_contacts.version < excluded.version)`,
    },
  ),
];

interface Relation<S extends DescMessage> {
  /** The kind of versions, where only the latest event of an aggregate counts. */
  revocable?: string;
  /** Its owner lists the aggregates, so that the table can be filled from nothing. */
  isListed?: boolean;
  row(message: MessageShape<S>, event: Event): object;
  /** Columns of the rows with their SQL types, besides the contact. */
  columns: Record<string, string>;
  /** Common table expressions that write `fresh`: the rows with the contact that they belong to now. */
  writes: string;
}

function relation<S extends DescMessage & { field: { contactId: unknown } }>(
  subject: string,
  table: string,
  schema: S,
  { revocable, isListed = false, row, columns, writes }: Relation<S>,
): AboutContacts {
  const [, owner = ""] = subject.split(".");
  const names = Object.keys(columns);
  const statement = prepared(
    `keep ${schema.typeName}`,
    `with sent as (
      select ordinality as position, x.* from rows from (
        json_to_recordset($1::json) as (contact_id integer, ${names.map((name) => `${name} ${columns[name]}`).join(", ")}))
        with ordinality as x),
    fresh as (
      select ${contactsNow.contactId} as contact_id, s.position, ${names.map((name) => `s.${name}`).join(", ")}
      from sent s ${contactsNow.join}),
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
    ...(isListed && { rebuilt: { name: table, type: schema.typeName } }),
    async keep(transaction, events) {
      const latest = revocable ? await newestEvents(transaction, revocable, events) : events;
      const rows = latest.map(rowOf);
      contactsNow.hold(
        transaction,
        rows.map(({ contact_id }) => contact_id),
      );
      const touched = await transaction.query(statement, [JSON.stringify(rows)]);
      return touched.map(({ contact_id }) => Number(contact_id));
    },
  };
}
