import { backgroundDeadline, type Database, prepared } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import type { Transaction } from "@tidings/database/transaction";
import { type DomainEvent, domainEvent, type Outbox } from "@tidings/messaging/outbox";
import { contactsByFate } from "@tidings/projection/contact-fates";
import { PushSubscribedSchema, PushUnsubscribedSchema } from "@tidings/proto/tidings/content/v1/events";
import { HAS_PROOF } from "../visit/withheld-proofs.ts";

/** A browser or an app that takes notifications, or does so no more. */
export interface Registration {
  deviceId: string;
  pushId: string;
  isMobile: boolean;
  isEnabled: boolean;
}

/** Browsers and apps of a contact: of more, the one that was seen longest ago is forgotten. */
export const PUSH_IDS_MAX = 20;

/** The contact that a device has proven to be: its notifications have values of that one. */
const provenStatement = prepared(
  "push_ids_proven_contact",
  `select coalesce(f.merged_into_id, d.contact_id) as contact_id from visitor_devices d left join contact_fates f on f.contact_id = d.contact_id
   where d.id = $1 and ${HAS_PROOF} and (f.contact_id is null or f.merged_into_id is not null)`,
);
const addStatement = prepared(
  "push_ids_add",
  `insert into push_ids (push_id, contact_id, is_mobile) values ($1, $2::integer, $3::boolean)
   on conflict do nothing returning id, push_id, contact_id, version`,
);
const holdStatement = prepared(
  "push_ids_hold",
  "select id, push_id, contact_id, version, is_enabled from push_ids where push_id = $1 for update",
);
const changeStatement = prepared(
  "push_ids_change",
  `update push_ids set is_enabled = $2::boolean, is_mobile = $3::boolean, version = $4::integer, last_seen = now() where id = $1::integer`,
);
const dropStatement = prepared("push_ids_drop", "delete from push_ids where id = $1::integer");
const forgetStatement = prepared(
  "push_ids_forget",
  `delete from push_ids where id in (
     select id from push_ids where contact_id = $1::integer order by last_seen desc, id desc offset ${PUSH_IDS_MAX})
   returning id, push_id, contact_id, version, is_enabled`,
);

/** Registers an id for the contact that its device has proven to be. False for a device that has proven nothing: nothing is kept then. */
export async function registerPush(
  { database, outbox }: { database: Database; outbox: Outbox },
  registration: Registration,
): Promise<boolean> {
  const { deviceId, pushId, isMobile, isEnabled } = registration;
  return database.transaction(backgroundDeadline(), async (transaction) => {
    contactsByFate.hold(transaction, []);
    const [proven] = await transaction.query(provenStatement, [deviceId]);
    if (!proven) return false;
    const owner = { contactId: Number(proven.contact_id), pushId, isMobile };
    const [known] = await transaction.query(holdStatement, [pushId]);
    const isOwn = Number(known?.contact_id) === owner.contactId;
    if (known && isOwn) outbox.append(transaction, change(transaction, known, registration));
    // A device ends no subscription of another contact.
    if (!isOwn && isEnabled) outbox.append(transaction, await add(transaction, owner, known));
    return true;
  });
}

interface Owner {
  contactId: number;
  pushId: string;
  isMobile: boolean;
}

/** Adds an id. One that was another contact's is a new row: its end there and its beginning here are of two aggregates, each with its own versions. */
async function add(
  transaction: Transaction,
  { contactId, pushId, isMobile }: Owner,
  before: Row | undefined,
): Promise<DomainEvent[]> {
  if (before) transaction.execute(dropStatement, [before.id]);
  const [added] = await transaction.query(addStatement, [pushId, contactId, isMobile]);
  // Another request has registered it at this moment.
  if (!added) return [];
  const forgotten = await transaction.query(forgetStatement, [contactId]);
  const ended = [...(before ? [before] : []), ...forgotten].filter(({ is_enabled }) => is_enabled === "t");
  const version = Number(added.version);
  return [...ended.map(unsubscribed), subscribed(added, version)];
}

function change(
  transaction: Transaction,
  known: Row,
  { isMobile, isEnabled }: Pick<Registration, "isMobile" | "isEnabled">,
): DomainEvent[] {
  const wasEnabled = known.is_enabled === "t";
  const version = Number(known.version) + Number(wasEnabled !== isEnabled);
  transaction.execute(changeStatement, [known.id, isEnabled, isMobile, version]);
  if (wasEnabled === isEnabled) return [];
  return [isEnabled ? subscribed(known, version) : unsubscribed(known)];
}

function subscribed(row: Row, version: number): DomainEvent {
  return domainEvent(
    "tidings.content.push.subscribed",
    { id: Number(row.id), version },
    PushSubscribedSchema,
    subscription(row),
  );
}

/** The end of a subscription is its next version, also where its row is gone with it. */
function unsubscribed(row: Row): DomainEvent {
  return domainEvent(
    "tidings.content.push.unsubscribed",
    { id: Number(row.id), version: Number(row.version) + 1 },
    PushUnsubscribedSchema,
    subscription(row),
  );
}

function subscription({ contact_id, push_id }: Row) {
  return { contactId: Number(contact_id), pushId: push_id ?? "" };
}
