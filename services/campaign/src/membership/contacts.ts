import { fromBinary } from "@bufbuild/protobuf";
import type { Event } from "@tidings/bus/event";
import { prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import type { Outbox } from "@tidings/messaging/outbox";
import { newestEvents } from "@tidings/projection/newest";
import type { Projection } from "@tidings/projection/projection";
import { DELETED, MERGED, survivorIn } from "@tidings/projection/survivor";
import { type ContactSaved, ContactSavedSchema } from "@tidings/proto/tidings/contact/v1/events";
import { parseJson } from "@tidings/resource/json-member";
import { moveMemberships } from "./merge.ts";

const keepStatement = prepared(
  "project_contacts",
  `insert into contacts (id, version, owner_id)
   select * from unnest($1::integer[], $2::integer[], $3::integer[]) as t (id, version, owner_id) order by id
   on conflict (id) do update set version = excluded.version, owner_id = excluded.owner_id`,
);
const forgetStatements = [
  "contacts where id",
  ...["segment_contacts", "campaign_contacts", "campaign_event_logs"].map(
    (table) => `${table} where contact_id`,
  ),
].map((place) =>
  prepared(`forget_contacts ${place}`, `delete from ${place} = any((select $1::integer[])::integer[])`),
);

/** The table `contacts`: which there are, and whose. What is about one that is gone goes with it; merged ones leave it behind. */
export function contacts(outbox: Outbox): Projection {
  return {
    owner: "contact",
    subjects: ["tidings.contact.contact.created", "tidings.contact.contact.reassigned", DELETED, MERGED],
    rebuilt: { name: "contacts", type: ContactSavedSchema.typeName },
    async keep(transaction, events) {
      const latest = await newestEvents(
        transaction,
        "contacts",
        events.filter(({ subject }) => subject !== MERGED),
      );
      const isGone = ({ subject }: Event) => subject === DELETED;
      keep(
        transaction,
        latest.filter((event) => !isGone(event)),
      );
      for (const event of events.filter(({ subject }) => subject === MERGED || subject === DELETED)) {
        const survivorId = survivorIn(event);
        if (survivorId !== undefined)
          await moveMemberships(transaction, outbox, { from: event.aggregateId, to: survivorId });
      }
      const gone = latest.filter(isGone).map(({ aggregateId }) => aggregateId);
      if (gone.length > 0) for (const statement of forgetStatements) transaction.execute(statement, [gone]);
      return latest.map(({ aggregateId }) => aggregateId);
    },
  };
}

function keep(transaction: Transaction, events: Event[]): void {
  if (events.length === 0) return;
  transaction.execute(keepStatement, [
    events.map(({ aggregateId }) => aggregateId),
    events.map(({ aggregateVersion }) => aggregateVersion),
    events.map(({ payload }) => ownerIn(fromBinary(ContactSavedSchema, payload))),
  ]);
}

function ownerIn({ snapshot, row }: ContactSaved): number | null {
  if (snapshot) return snapshot.ownerId ?? null;
  // An event from before snapshots were messages.
  if (row.length === 0) return null;
  const { owner_id: ownerId } = parseJson(row) as { owner_id?: string };
  return ownerId ? Number(ownerId) : null;
}
