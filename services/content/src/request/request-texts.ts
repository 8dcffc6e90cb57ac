import { type Database, prepared, queryable } from "@tidings/database/database";
import type { Queryable } from "@tidings/database/transaction";
import { isOpen } from "../family/is-open.ts";
import type { AskContactable } from "../send/contactable.ts";
import { notWritten } from "../send/not-written.ts";
import { type Outcome, outcomeOfRow, sendOfOccasion } from "../send/outcomes.ts";
import { type ChosenText, chooseSmses } from "../text/choose-text.ts";
import type { RenderText } from "../text/render-text.ts";
import { type AskedSends, noOf, type OccasionOf, refusedAll, withRefusals } from "./request.ts";

export interface RequestTextsOptions {
  database: Database;
  askContactable: AskContactable;
  render: RenderText;
  /** Is there a way for text messages to leave? */
  hasTransport: boolean;
  /** Called once sends are chosen. */
  wake(): void;
}

const openStatement = prepared(
  "smses_asked",
  `select s.message, s.language from smses s where s.id = $1::integer and ${isOpen("s")}`,
);
const ofOccasionStatement = prepared("text_sends_of_occasion", sendOfOccasion("text_sends", "sms_id"));

/** Chooses contacts for a text message. One answer for each, in their order. */
export async function requestTexts(
  { database, askContactable, render, hasTransport, wake }: RequestTextsOptions,
  asked: AskedSends,
  deadlineMs: number,
): Promise<Outcome[]> {
  const { itemId: smsId, occasion, contactIds, source, sourceId } = asked;
  const queries = queryable(database, deadlineMs);
  const [sms] = await queries.query(openStatement, [smsId]);
  if (!sms) return refusedAll(contactIds, "unpublished");
  const written = { smsId, message: sms.message ?? "", language: sms.language ?? "" };
  const known = new Set((await textsOfOccasion(queries, asked)).map(({ contactId }) => contactId));
  const refusals = new Map<number, string>();
  const write = async (contactId: number): Promise<ChosenText[]> => {
    const no = hasTransport ? noOf((await askContactable("sms", contactId)).refusal) : "no_transport";
    const content = no === "" ? await render(written, contactId).catch(notWritten) : undefined;
    if (typeof content === "string")
      return [{ itemId: smsId, contactId, occasion, source, sourceId, content }];
    refusals.set(contactId, no || "not_written");
    return [];
  };
  const fresh = contactIds.filter((contactId) => !known.has(contactId));
  const chosen = (await Promise.all(fresh.map(write))).flat();
  const hashes = await database.transaction(deadlineMs, (transaction) => {
    transaction.afterCommit(wake);
    return chooseSmses(transaction, chosen, database.now());
  });
  const made = new Set(hashes.filter((hash) => hash !== undefined));
  return withRefusals(contactIds, await textsOfOccasion(queries, asked), { made, refusals });
}

/** The outcomes of text messages of an occasion, for those of these contacts that have one. */
export async function textsOfOccasion(
  { query }: Queryable,
  { itemId, occasion, contactIds }: OccasionOf,
): Promise<Outcome[]> {
  return (await query(ofOccasionStatement, [itemId, occasion, contactIds])).map(outcomeOfRow);
}
