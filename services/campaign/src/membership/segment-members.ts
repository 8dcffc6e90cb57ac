import { fromBinary } from "@bufbuild/protobuf";
import type { Event } from "@tidings/bus/event";
import { prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import type { Outbox } from "@tidings/messaging/outbox";
import type { Projection } from "@tidings/projection/projection";
import {
  ContactSegmentsSchema,
  SegmentMembershipChangedSchema,
} from "@tidings/proto/tidings/contact/v1/events";
import { isGone } from "./by-hand.ts";
import { followContacts, IS_RUNNING } from "./follow.ts";
import { requestMembers } from "./follow-sources.ts";
import { lockCampaigns, lockSegmentsToWrite } from "./locks.ts";

const SUBJECT = "tidings.contact.segment.membership_changed";
const LISTED = "tidings.contact.contact_segments.listed";
const NAME = "segment_contacts";

/** Contacts that are followed at once; more of them are a job. */
const AT_ONCE = 20_000;

/** A deleted contact is in no segment, whatever event comes later. */
const addText = (others = "") => `insert into segment_contacts (segment_id, contact_id)
   select t.segment_id, t.contact_id from unnest($1::integer[], $2::integer[]) as t (segment_id, contact_id)
   where not ${isGone("t.contact_id")} ${others}
   order by t.segment_id, t.contact_id on conflict do nothing`;
const addStatement = prepared("segment_contacts_add", addText());
/** A leave event may have arrived after the snapshot page was read. */
const addListedStatement = prepared(
  "segment_contacts_add_listed",
  addText(`and not exists (
     select from segment_contacts_left l where l.segment_id = t.segment_id and l.contact_id = t.contact_id)`),
);
const cameBackStatement = prepared(
  "segment_contacts_came_back",
  `delete from segment_contacts_left l using unnest($1::integer[], $2::integer[]) as t (segment_id, contact_id)
   where l.segment_id = t.segment_id and l.contact_id = t.contact_id`,
);
const leftStatement = prepared(
  "segment_contacts_left",
  `insert into segment_contacts_left (segment_id, contact_id)
   select t.segment_id, t.contact_id from unnest($1::integer[], $2::integer[]) as t (segment_id, contact_id)
   where not exists (select from projection_builds where name = '${NAME}' and done_at is not null)
   order by t.segment_id, t.contact_id on conflict do nothing`,
);
const removeStatement = prepared(
  "segment_contacts_remove",
  `delete from segment_contacts m using unnest($1::integer[], $2::integer[]) as t (segment_id, contact_id)
   where m.segment_id = t.segment_id and m.contact_id = t.contact_id`,
);
const campaignsStatement = prepared(
  "campaigns_of_segments",
  `select distinct c.id from campaign_segments cs join campaigns c on c.id = cs.campaign_id
   where cs.segment_id = any((select $1::integer[])::integer[]) and ${IS_RUNNING}`,
);

interface Move {
  segmentId: number;
  contactId: number;
  isAdded: boolean;
}

/** The last event about a contact in a segment decides. */
function movesIn(events: Event[]): Move[] {
  const moves = new Map<string, Move>();
  for (const { payload } of events) {
    const { segmentId, action, contactIds } = fromBinary(SegmentMembershipChangedSchema, payload);
    const isAdded = action === "added";
    for (const contactId of contactIds)
      moves.set(`${segmentId} ${contactId}`, { segmentId, contactId, isAdded });
  }
  return [...moves.values()];
}

function listedIn(events: Event[]): Move[] {
  return events.flatMap(({ aggregateId, payload }) =>
    fromBinary(ContactSegmentsSchema, payload).segmentIds.map((segmentId) => ({
      segmentId,
      contactId: aggregateId,
      isAdded: true,
    })),
  );
}

/** Two lists of the same length. */
function pairsOf(moves: Move[]): [number[], number[]] {
  return [moves.map(({ segmentId }) => segmentId), moves.map(({ contactId }) => contactId)];
}

/** Writes down who came and who left. */
function move(transaction: Transaction, moves: Move[]): void {
  const came = pairsOf(moves.filter(({ isAdded }) => isAdded));
  const left = pairsOf(moves.filter(({ isAdded }) => !isAdded));
  transaction.execute(addStatement, came);
  transaction.execute(cameBackStatement, came);
  transaction.execute(removeStatement, left);
  transaction.execute(leftStatement, left);
}

/** The table `segment_contacts`, from the membership events of the contact service; campaigns follow in the same transaction. */
export function segmentMembers(outbox: Outbox): Projection {
  return {
    owner: "contact",
    subjects: [SUBJECT],
    rebuilt: { name: NAME, type: ContactSegmentsSchema.typeName },
    async keep(transaction, events) {
      const listed = listedIn(events.filter(({ subject }) => subject === LISTED));
      const moves = movesIn(events.filter(({ subject }) => subject === SUBJECT));
      const all = [...listed, ...moves];
      const segmentIds = [...new Set(all.map(({ segmentId }) => segmentId))];
      lockSegmentsToWrite(transaction, segmentIds);
      if (listed.length > 0) transaction.execute(addListedStatement, pairsOf(listed));
      if (moves.length > 0) move(transaction, moves);
      const campaigns = await transaction.query(campaignsStatement, [segmentIds]);
      const campaignIds = campaigns.map(({ id }) => Number(id));
      const contactIds = [...new Set(all.map(({ contactId }) => contactId))];
      if (contactIds.length * campaignIds.length > AT_ONCE) await requestMembers(transaction, campaignIds);
      else if (campaignIds.length > 0) {
        lockCampaigns(transaction, campaignIds);
        await followContacts(transaction, outbox, { campaignIds, contactIds });
      }
      return contactIds;
    },
  };
}
