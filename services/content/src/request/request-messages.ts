import { type Database, prepared, queryable } from "@tidings/database/database";
import { chooseMessages } from "../chain/choose-messages.ts";
import { messagesOfOccasion } from "../chain/read-messages.ts";
import { isOpen } from "../family/is-open.ts";
import type { AskContactable } from "../send/contactable.ts";
import type { Outcome } from "../send/outcomes.ts";
import { type AskedSends, refusedAll, withRefusals } from "./request.ts";

export interface RequestMessagesOptions {
  database: Database;
  askContactable: AskContactable;
  /** Called once messages are chosen. */
  wake(): void;
}

const openStatement = prepared(
  "marketing_messages_asked",
  `select from marketing_messages m where m.id = $1::integer and ${isOpen("m")}`,
);

/** Chooses contacts for a marketing message. One answer for each, in their order: a no is asked for when a channel is chosen. */
export async function requestMessages(
  { database, askContactable, wake }: RequestMessagesOptions,
  asked: AskedSends,
  deadlineMs: number,
): Promise<Outcome[]> {
  const { itemId: messageId, occasion, contactIds, source, sourceId, isMarketing: isBulk } = asked;
  const queries = queryable(database, deadlineMs);
  const [open] = await queries.query(openStatement, [messageId]);
  if (!open) return refusedAll(contactIds, "unpublished");
  const known = new Set((await messagesOfOccasion(queries, asked)).map(({ contactId }) => contactId));
  const fresh = contactIds.filter((contactId) => !known.has(contactId));
  const answers = await Promise.all(
    fresh.map(async (contactId) => ({ contactId, ...(await askContactable("email", contactId)) })),
  );
  const there = answers.filter(({ refusal }) => refusal !== "not_found").map(({ contactId }) => contactId);
  const of = { messageId, contactIds: there, occasion, source, sourceId, isBulk };
  const made = await database.transaction(deadlineMs, (transaction) => {
    transaction.afterCommit(wake);
    return chooseMessages(transaction, of, database.now());
  });
  return withRefusals(contactIds, await messagesOfOccasion(queries, asked), { made, refusals: new Map() });
}
