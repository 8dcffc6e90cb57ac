import { backgroundDeadline, type Database, prepared } from "@tidings/database/database";
import type { JobOptions } from "@tidings/jobs/run-jobs";
import type { Email } from "@tidings/proto/tidings/content/v1/email";
import { serviceActor } from "@tidings/rpc/actor";
import type { Call } from "@tidings/rpc/call";
import type { Log } from "@tidings/runtime/log";
import { isOpen } from "../family/is-open.ts";
import type { MakeWinner } from "../family/make-winner.ts";
import { EMAIL_BROADCASTS, wakeBroadcast } from "./broadcast-kind.ts";
import { readEmailTest, winnerOf } from "./email-test.ts";
import { decisions } from "./plan-decision.ts";

interface DecisionOptions {
  database: Database;
  log: Log;
  makeWinner: MakeWinner<Email>;
  /** Called once a broadcast goes on. */
  wake(): void;
}

const holdStatement = prepared(
  "broadcasts_decided",
  `select b.email_id, b.is_paused, exists (
     select from emails e where ${isOpen("e")} and e.id = (select coalesce(variant_parent_id, id) from emails where id = b.email_id)) as is_open
   from broadcasts b where b.id = $1::uuid and b.state = 'testing' for update of b`,
);
const decideStatement = prepared(
  "broadcasts_decide",
  "update broadcasts set state = 'choosing', winner_id = $2 where id = $1::uuid",
);
/** Until a paused broadcast is looked at again. */
const PAUSED_SECONDS = 5;
const actor = serviceActor("Sends");

/**
 * Computes the winners of broadcasts whose test is over, makes them the parents of their tests, and lets the broadcasts go on, each in one transaction. A
 * paused one waits, a cancelled one has no winner, and one whose email was closed ends without.
 */
export function winnerDecisions({ database, log, makeWinner, wake }: DecisionOptions): JobOptions {
  return {
    database,
    log,
    jobs: decisions,
    async work(transaction, { key, payload }) {
      const [row] = await transaction.query(holdStatement, [key]);
      if (!row) return { state: "done" };
      if (row.is_paused === "t") return { state: "again", payload, delaySeconds: PAUSED_SECONDS };
      const test = row.is_open === "t" ? await readEmailTest(transaction, Number(row.email_id)) : undefined;
      const winner = test && winnerOf(test);
      // One without a parent stays as it is.
      if (winner !== undefined) await makeWinner(transaction, winner, decisionCall());
      transaction.execute(decideStatement, [key, winner ?? null]);
      wakeBroadcast(EMAIL_BROADCASTS, transaction, key);
      transaction.afterCommit(wake);
      return { state: "done" };
    },
  };
}

/** The caller of the send had the rights when it began. */
function decisionCall(): Call {
  return { actor, deadlineMs: backgroundDeadline(), requestId: "", reach: () => "all" };
}
