import { create } from "@bufbuild/protobuf";
import { Verb } from "@tidings/proto/tidings/api/v1/options";
import { ContactSegmentSchema } from "@tidings/proto/tidings/contact/v1/segment";
import type { Call } from "@tidings/rpc/call";
import { type Database, prepared } from "@tidings/store/database";
import { timestampFromText } from "@tidings/store/timestamp";
import { reachedContacts, visibleContact } from "../contact/referred.ts";
import { changeByHand } from "../membership/by-hand.ts";
import { membershipEvents } from "../membership/events.ts";
import { mayReach } from "../record/reach.ts";
import type { BuildServices } from "./build.ts";
import { withoutCulprits } from "./culprits.ts";
import type { Definition } from "./definitions.ts";
import { followChanges } from "./follow.ts";
import { handRead, MEMBERSHIP } from "./predicate.ts";
import { takeTurn } from "./turn.ts";

/** Puts contacts into a segment by hand, or takes them out; answers the ids of those that are so now. */
export async function changeMembers(
  services: BuildServices,
  definition: Definition,
  contactIds: number[],
  { call, isAdded }: { call: Call; isAdded: boolean },
): Promise<number[]> {
  const { database, catalogues, outbox } = services;
  const contacts = await reachedContacts(database, contactIds, call, Verb.EDIT);
  const ids = [...new Set([...contacts.values()].map((row) => Number(row.id)))];
  const catalogue = await catalogues.current();
  const change = () =>
    database.transaction(call.deadlineMs, async (transaction) => {
      // First of all: whoever has the turn may want the same rows.
      takeTurn(transaction);
      const moved = await changeByHand(transaction, definition.id, ids, isAdded);
      outbox.append(
        transaction,
        membershipEvents(moved, () => definition),
      );
      const changed = [handRead(definition.id), MEMBERSHIP];
      const changes = moved.map(({ contactId }) => ({ contactId, changed }));
      await followChanges(services, transaction, catalogue, changes);
    });
  await withoutCulprits(services, () => ids, change);
  return [...contacts.keys()];
}

const ofContactStatement = prepared(
  "segments_of_contact",
  `select s.id, s.name, s.alias, s.is_global, s.created_by, m.date_added, m.manually_added, m.manually_removed
   from segment_contacts m join segments s on s.id = m.segment_id
   where m.contact_id = $1 and not m.manually_removed order by s.name, s.id limit 10000`,
);

/** The segments that a contact is in, as far as the caller sees them. */
export async function listSegmentsOfContact(database: Database, contactId: number, call: Call) {
  const id = await visibleContact(database, contactId, call);
  const rows = await database.query(ofContactStatement, [id], call.deadlineMs);
  return rows
    .filter((row) => row.is_global === "t" || mayReach(call, Verb.VIEW, row, "created_by"))
    .map(({ id, name, alias, date_added, manually_added, manually_removed }) =>
      create(ContactSegmentSchema, {
        id: Number(id),
        name: name ?? "",
        alias: alias ?? "",
        ...(date_added && { dateAdded: timestampFromText(date_added) }),
        manuallyAdded: manually_added === "t",
        manuallyRemoved: manually_removed === "t",
      }),
    );
}
