import { create } from "@bufbuild/protobuf";
import { type Database, prepared } from "@tidings/database/database";
import { timestampFromText } from "@tidings/database/timestamp";
import type { Transaction } from "@tidings/database/transaction";
import { Verb } from "@tidings/proto/tidings/api/v1/options";
import { ContactSegmentSchema } from "@tidings/proto/tidings/contact/v1/segment";
import type { Call } from "@tidings/rpc/call";
import { coalesce } from "@tidings/runtime/coalesce/coalesce";
import { reachedContacts, visibleContact } from "../../contact/referred.ts";
import type { FieldCatalogue } from "../../field/catalogue.ts";
import { changeByHand } from "../../membership/by-hand.ts";
import { membershipEvents } from "../../membership/events.ts";
import { mayReach } from "../../record/reach.ts";
import type { Definition } from "../definition/definitions.ts";
import { handRead, MEMBERSHIP } from "../definition/predicate.ts";
import { followChanges } from "../follow/follow.ts";
import { lockMembers } from "../follow/member-lock.ts";
import type { BuildServices } from "./build.ts";
import { withoutCulprits } from "./culprits.ts";

interface Wish {
  definition: Definition;
  ids: number[];
  isAdded: boolean;
  deadlineMs: number;
}

/** Puts contacts into a segment by hand, or takes them out; answers the ids of those that are so now. */
export type ChangeMembers = (
  definition: Definition,
  contactIds: number[],
  options: { call: Call; isAdded: boolean },
) => Promise<number[]>;

/**
 * Changes of one segment that come at the same time are one transaction and one event: they would wait for each other's turn
 * all the same. Events name their actor, so each transaction has the changes of one actor.
 */
export function memberChanges(services: BuildServices): ChangeMembers {
  const ask = coalesce((wishes: Wish[]) => grant(services, wishes));
  return async (definition, contactIds, { call, isAdded }) => {
    const { actor, deadlineMs } = call;
    const contacts = await reachedContacts(services.database, contactIds, call, Verb.EDIT);
    const ids = [...new Set([...contacts.values()].map((row) => Number(row.id)))];
    const key = [definition.id, isAdded, actor.kind, actor.id, actor.clientId, actor.name].join(" ");
    await ask(key, { definition, ids, isAdded, deadlineMs });
    return [...contacts.keys()];
  };
}

/** All of them are about one segment, and in one direction. */
async function grant(services: BuildServices, wishes: Wish[]): Promise<void> {
  const { database, catalogues } = services;
  const latest = wishes.at(-1);
  if (!latest) return;
  const { definition, isAdded } = latest;
  const ids = [...new Set(wishes.flatMap((wish) => wish.ids))];
  const deadlineMs = Math.max(...wishes.map((wish) => wish.deadlineMs));
  const catalogue = await catalogues.current();
  const change = () =>
    database.transaction(deadlineMs, async (transaction) => {
      // Before any contact is locked: the transaction that has the turn may want the same contacts.
      lockMembers(transaction);
      await changeMembersIn(services, { transaction, catalogue }, { definition, ids, isAdded });
    });
  await withoutCulprits(services, () => ids, change);
}

/** Changes members of a segment by hand in a transaction that has the turn of segments, and lets other segments follow. */
export async function changeMembersIn(
  services: BuildServices,
  { transaction, catalogue }: { transaction: Transaction; catalogue: FieldCatalogue },
  { definition, ids, isAdded }: { definition: Definition; ids: number[]; isAdded: boolean },
): Promise<void> {
  const moved = await changeByHand(transaction, definition.id, ids, isAdded);
  services.outbox.append(
    transaction,
    membershipEvents(moved, () => definition),
  );
  const changed = [handRead(definition.id), MEMBERSHIP];
  const changes = moved.map(({ contactId }) => ({ contactId, changed }));
  await followChanges(services, transaction, catalogue, changes);
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
