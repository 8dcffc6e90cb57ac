import { prepared } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import type { Transaction } from "@tidings/database/transaction";
import type { JobOptions } from "@tidings/jobs/run-jobs";
import { v7 } from "uuid";
import { beginBroadcast, EMAIL_BROADCASTS } from "./broadcast-kind.ts";
import { chooseRecipients, mailedBehind, type Recipient, standingOf } from "./choose-recipients.ts";
import { FAMILY_OF } from "./email-family.ts";
import { IS_CLOSED_EMAIL, TARGET_OF_BROADCAST } from "./is-closed.ts";
import { planDecision } from "./plan-decision.ts";
import type { ContactRange } from "./read-segments.ts";
import { type BroadcastOptions, broadcastRunner, FIRST_POSITION, mostOf } from "./run-broadcasts.ts";
import { shareOf, testShare } from "./test-share.ts";

/** A send of an email to segments. */
export interface NewBroadcast {
  emailId: number;
  segmentIds: number[];
  /** No more recipients than these; all when undefined. */
  recipientsMax: number | undefined;
  /** No more recipients are chosen at a time. */
  batch?: number | undefined;
  /** Only these contacts. */
  contacts?: ContactRange;
  createdBy: number | null;
  /** It begins by itself, at the email's time. */
  isScheduled?: boolean;
  /** Sends to a share of the recipients first, and hours later to the rest, which gets the winner of the test. */
  test?: { winnerAfterHours: number; percent: number } | undefined;
}

const addStatement = prepared(
  "broadcasts_add",
  `insert into broadcasts (id, email_id, family_id, list_ids, recipients_max, created_by, winner_after_hours, test_share, is_scheduled, min_contact_id, max_contact_id, batch, position, is_of_root)
   select $1::uuid, e.id, ${FAMILY_OF}, $3::integer[], $4::integer, $5::integer, $6::smallint, $7::smallint, $8::boolean, $9::integer, $10::integer, $11::integer, coalesce($9::integer, 1) - 1, e.variant_parent_id is null from emails e where e.id = $2::integer`,
);
const readStatement = prepared(
  "broadcasts_read",
  `select b.state, b.is_paused, b.position, b.max_contact_id, b.batch, b.email_id, b.family_id, array_to_json(b.list_ids) as lists, e.excluded_lists,
     coalesce(b.recipients_max, b.winner_after_hours) is null
       and not exists (select from emails v where v.variant_parent_id = e.id) as takes_all
   from broadcasts b left join emails e on e.id = b.email_id where b.id = $1::uuid`,
);
const holdStatement = prepared(
  "broadcasts_hold",
  `select b.*, ${TARGET_OF_BROADCAST} as target_id, ${IS_CLOSED_EMAIL} as is_closed, ${EMAIL_BROADCASTS.follows} as follows
   from broadcasts b left join emails e on e.id = b.email_id where b.id = $1::uuid for update of b`,
);
const testStatement = prepared(
  "broadcasts_test",
  `update broadcasts b set position = ${FIRST_POSITION}, state = 'testing', decides_at = now() + make_interval(hours => winner_after_hours) where id = $1::uuid`,
);
const SLICE = 4_000;

/** Begins to send an email to segments. Its id is that of the broadcast. */
export async function addBroadcast(
  transaction: Transaction,
  { emailId, segmentIds, recipientsMax, createdBy, test, contacts, batch, isScheduled = false }: NewBroadcast,
): Promise<string> {
  const id = v7();
  transaction.execute(addStatement, [
    ...[id, emailId, segmentIds, recipientsMax ?? null, createdBy],
    ...[test?.winnerAfterHours ?? null, test?.percent ?? null, isScheduled],
    ...[contacts?.minContactId ?? null, contacts?.maxContactId ?? null, batch ?? null],
  ]);
  await beginBroadcast(EMAIL_BROADCASTS, transaction, { id, itemId: emailId });
  return id;
}

/** Chooses the recipients of broadcasts of emails. */
export function broadcastJobs(options: BroadcastOptions): JobOptions {
  const { database, outbox } = options;
  return broadcastRunner<Recipient>(options, EMAIL_BROADCASTS, {
    slice: SLICE,
    readStatement,
    holdStatement,
    chosenBehind: (row, after, deadlineMs) =>
      mailedBehind(database, Number(row.family_id), after, deadlineMs),
    // Where neither is counted, the ledger alone decides: who has a mail of the family is not chosen again.
    async freshOf(row, members, deadlineMs) {
      if (row.takes_all === "t") return members;
      const sent = { familyId: Number(row.family_id), emailId: Number(row.email_id) };
      return (await standingOf(database, sent, members, deadlineMs)).fresh;
    },
    async choose({ transaction, id, row }, fresh) {
      const { test, left } = shareLeft(row);
      const choosing = {
        ...{ transaction, outbox, now: database.now(), broadcastId: id, familyId: Number(row.family_id) },
        emailId: Number(row.target_id),
        isDecided: row.winner_id !== null,
      };
      const chosen = await chooseRecipients(choosing, test ? testShare(fresh, test) : fresh, left);
      return { chosen, isFull: chosen >= left };
    },
    putOff({ transaction, id, row }) {
      if (!shareLeft(row).test) return false;
      transaction.execute(testStatement, [id]);
      planDecision(transaction, id, Number(row.winner_after_hours));
      return true;
    },
  });
}

/** How many recipients may still be chosen, and the test that they take part in, while it goes on. */
function shareLeft(row: Row): { test?: { offered: number; percent: number }; left: number } {
  const most = mostOf(row);
  if (row.winner_after_hours === null || row.decides_at !== null) return { left: most - Number(row.chosen) };
  const percent = Number(row.test_share);
  return {
    test: { offered: Number(row.offered), percent },
    left: shareOf(most, percent) - Number(row.chosen),
  };
}
