import { fromBinary } from "@bufbuild/protobuf";
import { prepared } from "@tidings/database/database";
import type { Outbox } from "@tidings/messaging/outbox";
import type { Projection } from "@tidings/projection/projection";
import { FormSubmittedSchema } from "@tidings/proto/tidings/content/v1/events";
import { addByHand } from "./by-hand.ts";
import { IS_RUNNING } from "./follow.ts";

const SUBJECT = "tidings.content.form.submitted";

const campaignsStatement = prepared(
  "campaigns_of_forms",
  `select c.id, f.id as form_id from unnest((select $1::integer[])::integer[]) as f (id)
   join campaigns c on c.forms @> to_jsonb(f.id) where ${IS_RUNNING}`,
);

/** A form submission adds its contact to the form's campaigns, as an addition by hand does. */
export function formMembers(outbox: Outbox): Projection {
  return {
    owner: "content",
    subjects: [SUBJECT],
    async keep(transaction, events) {
      const sent = events
        .map(({ payload }) => fromBinary(FormSubmittedSchema, payload))
        .filter(({ contactId }) => contactId > 0);
      const formIds = [...new Set(sent.map(({ formId }) => formId))];
      if (formIds.length === 0) return [];
      for (const { id, form_id } of await transaction.query(campaignsStatement, [formIds])) {
        const contactIds = sent.flatMap(({ formId, contactId }) =>
          formId === Number(form_id) ? [contactId] : [],
        );
        // Each time it is sent counts, where a campaign allows to begin anew.
        for (const round of rounds(contactIds))
          await addByHand(transaction, outbox, { campaignId: Number(id), contactIds: round });
      }
      return sent.map(({ contactId }) => contactId);
    },
  };
}

/** Splits a list into such that have nothing twice. */
function rounds(ids: number[]): number[][] {
  const counts = new Map<number, number>();
  const split: number[][] = [];
  for (const id of ids) {
    const count = counts.get(id) ?? 0;
    counts.set(id, count + 1);
    const round = split[count] ?? [];
    round.push(id);
    split[count] = round;
  }
  return split;
}
