import { fromBinary } from "@bufbuild/protobuf";
import type { Projection } from "@tidings/projection/projection";
import { SegmentMembershipChangedSchema } from "@tidings/proto/tidings/contact/v1/events";
import { prepared } from "@tidings/store/database";
import type { Outbox } from "@tidings/store/outbox";
import { followContacts, IS_RUNNING } from "./follow.ts";
import { requestMembers } from "./follow-sources.ts";
import { takeTurn } from "./turn.ts";

const SUBJECT = "tidings.contact.segment.membership_changed";

/** Contacts that are followed at once; more of them are a job. */
const AT_ONCE = 20_000;

/** A contact that is gone is in no segment, whatever is told of it later. */
const addStatement = prepared(
  "segment_contacts_add",
  `insert into segment_contacts (segment_id, contact_id)
   select t.segment_id, t.contact_id from unnest($1::integer[], $2::integer[]) as t (segment_id, contact_id)
   where not exists (select from projected_versions v where v.kind = 'contacts' and v.id = t.contact_id
     and not exists (select from contacts k where k.id = v.id))
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

/** The table `segment_contacts`, as the contact service tells who comes and goes; campaigns follow in the same transaction. */
export function segmentMembers(outbox: Outbox): Projection {
  return {
    owner: "contact",
    subject: SUBJECT,
    isOf: (subject) => subject === SUBJECT,
    async keep(transaction, events) {
      // The last that is told of a contact in a segment is how it is.
      const moves = new Map<string, Move>();
      for (const { payload } of events) {
        const { segmentId, action, contactIds } = fromBinary(SegmentMembershipChangedSchema, payload);
        const isAdded = action === "added";
        for (const contactId of contactIds)
          moves.set(`${segmentId} ${contactId}`, { segmentId, contactId, isAdded });
      }
      takeTurn(transaction);
      const of = (isAdded: boolean) => {
        const some = [...moves.values()].filter((move) => move.isAdded === isAdded);
        return [some.map(({ segmentId }) => segmentId), some.map(({ contactId }) => contactId)];
      };
      transaction.execute(addStatement, of(true));
      transaction.execute(removeStatement, of(false));
      const segmentIds = [...new Set([...moves.values()].map(({ segmentId }) => segmentId))];
      const campaigns = await transaction.query(campaignsStatement, [segmentIds]);
      const campaignIds = campaigns.map(({ id }) => Number(id));
      const contactIds = [...new Set([...moves.values()].map(({ contactId }) => contactId))];
      if (contactIds.length * campaignIds.length > AT_ONCE) requestMembers(transaction, campaignIds);
      else if (campaignIds.length > 0) await followContacts(transaction, outbox, { campaignIds, contactIds });
      return contactIds;
    },
  };
}
