import { create } from "@bufbuild/protobuf";
import { type Database, prepared, queryByIndex } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import type { Transaction } from "@tidings/database/transaction";
import { type DomainEvent, domainEvent, type Outbox } from "@tidings/messaging/outbox";
import { contactsByFate, fatesLock } from "@tidings/projection/contact-fates";
import { SnapshotSchema } from "@tidings/proto/tidings/api/v1/snapshot";
import { CategorySubscriptionChangedSchema } from "@tidings/proto/tidings/content/v1/events";
import type { SnapshotSource } from "@tidings/resource/snapshots";

/** A category that contacts choose whether to hear of. */
export interface OfferedCategory {
  id: number;
  title: string;
  isSubscribed: boolean;
}

/** SQL: does the contact of one column refuse the category of the email of another? */
export function refusesCategory(contactId: string, emailId: string): string {
  return `exists (select from category_subscriptions k join emails e on e.category_id = k.category_id
    where k.contact_id = ${contactId} and e.id = ${emailId} and not k.is_subscribed)`;
}

const OFFERED_MAX = 100;
/** The contact of `$1` as it is now; none where it was erased. */
const CONTACT_NOW = `select ${contactsByFate.contactId} from (select $1::integer as contact_id) s ${contactsByFate.join}`;
/** Categories of everything; a contact that chose nothing hears of them all. */
const OFFERED = `select id, title from categories where bundle = 'global' order by title, id limit ${OFFERED_MAX}`;
const offeredStatement = prepared(
  "categories_offered",
  `select c.id, c.title, coalesce(k.is_subscribed, true) as is_subscribed
   from (${OFFERED}) c left join category_subscriptions k on k.category_id = c.id and k.contact_id = (${CONTACT_NOW}) order by c.title, c.id`,
);
/** Categories that are not offered are left out, whatever was sent. */
const chooseStatement = prepared(
  "category_subscriptions_choose",
  `insert into category_subscriptions as k (contact_id, category_id, is_subscribed)
   select o.contact_id, c.id, c.id = any ($3::integer[]) from (${OFFERED}) c cross join (${CONTACT_NOW}) as o (contact_id)
   where c.id = any ($2::integer[]) order by c.id
   on conflict (contact_id, category_id) do update set is_subscribed = excluded.is_subscribed, version = k.version + 1
     where k.is_subscribed <> excluded.is_subscribed
   returning id, version, contact_id, category_id, is_subscribed`,
);

export async function offeredCategories(
  database: Database,
  contactId: number,
  deadlineMs: number,
): Promise<OfferedCategory[]> {
  const rows = await database.query(offeredStatement, [contactId], deadlineMs);
  return rows.map(({ id, title, is_subscribed }) => ({
    id: Number(id),
    title: title ?? "",
    isSubscribed: is_subscribed === "t",
  }));
}

/** Keeps the choice among the categories that were shown. Sends to segments obey it with this transaction. */
export async function chooseCategories(
  transaction: Transaction,
  outbox: Outbox,
  { contactId, shown, chosen }: { contactId: number; shown: number[]; chosen: number[] },
): Promise<void> {
  if (shown.length === 0) return;
  fatesLock.shared(transaction);
  const rows = await transaction.query(chooseStatement, [contactId, shown, chosen]);
  outbox.append(transaction, rows.map(choiceEvent));
}

const snapshotsStatement = prepared(
  "category_subscriptions_snapshots",
  `select id, version, contact_id, category_id, is_subscribed from category_subscriptions
   where id > $1 order by id limit $2::integer`,
);

/** All choices, as their events carry them. */
export function choiceSnapshots(database: Database): SnapshotSource {
  return {
    type: CategorySubscriptionChangedSchema.typeName,
    async list({ afterId, pageSize }, deadlineMs) {
      const rows = await queryByIndex(database, snapshotsStatement, [afterId, pageSize], deadlineMs);
      return rows.map((row) => {
        const { aggregateId: id, aggregateVersion: version, payload } = choiceEvent(row);
        return create(SnapshotSchema, { id, version, payload });
      });
    },
  };
}

function choiceEvent({ id, version, contact_id, category_id, is_subscribed }: Row): DomainEvent {
  return domainEvent(
    "tidings.content.category.subscription_changed",
    { id: Number(id), version: Number(version) },
    CategorySubscriptionChangedSchema,
    {
      contactId: Number(contact_id),
      categoryId: Number(category_id),
      isSubscribed: is_subscribed === "t",
    },
  );
}
