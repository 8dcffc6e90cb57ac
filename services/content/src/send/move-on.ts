import { prepared } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import type { Transaction } from "@tidings/database/transaction";
import { OF_MESSAGES, SendState } from "./send-tables.ts";

const moveStatement = prepared(
  "message_sends_move_on",
  `update message_sends m set state = 'waiting', due_at = now(), send_hash = null, channel = null,
     tried = m.tried || jsonb_build_array(jsonb_build_object('channel', m.channel, 'reason', o.reason))
   from (select * from unnest($1::uuid[], $2::text[]) as o (hash, reason) order by hash) o where m.send_hash = o.hash`,
);
/** The channel's last word: nothing went out, and nothing will. A send of unknown outcome is none of these. */
const REFUSED: ReadonlySet<string> = new Set([SendState.FAILED, SendState.SUPPRESSED]);

/** Has marketing messages whose channel refused go on to their next channel, in the transaction that records the outcome of the sends. */
export function moveOn(transaction: Transaction, sends: Row[], wake: () => void): void {
  const refused = sends.filter(
    ({ state, occasion }) => REFUSED.has(state ?? "") && occasion?.startsWith(OF_MESSAGES),
  );
  if (refused.length === 0) return;
  const reasons = refused.map(({ reason, state }) => reason || state);
  transaction.execute(moveStatement, [refused.map(({ hash }) => hash), reasons]);
  transaction.afterCommit(wake);
}
