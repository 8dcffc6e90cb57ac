import { type Database, prepared, queryable } from "@tidings/database/database";
import type { Queryable } from "@tidings/database/transaction";
import { notWritten } from "../send/not-written.ts";
import { type Outcome, outcomeOfRow, sendOfOccasion } from "../send/outcomes.ts";
import type { ChosenText } from "../text/choose-text.ts";
import type { TextChannel } from "../text/text-channel.ts";
import type { TextSending } from "../text/text-sending.ts";
import { type AskedSends, noOf, type OccasionOf, refusedAll, withRefusals } from "./request.ts";

export interface RequestTextsOptions {
  database: Database;
  /** Called once sends are chosen. */
  wake(): void;
}

/** Reads the outcomes of sends of an occasion, for those of its contacts that have one. */
export type OutcomesOf = (queries: Queryable, occasion: OccasionOf) => Promise<Outcome[]>;

/** Chooses contacts for a message of a channel. One answer for each, in their order. */
export function textRequests(
  { kind, render, ask, way }: TextSending,
  { database, wake }: RequestTextsOptions,
): { request(asked: AskedSends, deadlineMs: number): Promise<Outcome[]>; outcomesOf: OutcomesOf } {
  const outcomesOf = outcomesIn(kind.channel);
  const request = async (asked: AskedSends, deadlineMs: number) => {
    const { itemId, occasion, contactIds, source, sourceId } = asked;
    const queries = queryable(database, deadlineMs);
    const item = (await kind.openItems(queries, [itemId])).get(itemId);
    if (!item) return refusedAll(contactIds, "unpublished");
    const known = new Set((await outcomesOf(queries, asked)).map(({ contactId }) => contactId));
    const refusals = new Map<number, string>();
    const write = async (contactId: number): Promise<ChosenText[]> => {
      const no = way ? noOf((await ask(contactId, item.mobile === "t")).refusal) : "no_transport";
      const content = no === "" ? await render(item, contactId).catch(notWritten) : undefined;
      if (typeof content === "string") return [{ itemId, contactId, occasion, source, sourceId, content }];
      refusals.set(contactId, no || "not_written");
      return [];
    };
    const fresh = contactIds.filter((contactId) => !known.has(contactId));
    const chosen = (await Promise.all(fresh.map(write))).flat();
    const hashes = await database.transaction(deadlineMs, (transaction) => {
      transaction.afterCommit(wake);
      return kind.choose(transaction, chosen, database.now());
    });
    const made = new Set(hashes.filter((hash) => hash !== undefined));
    return withRefusals(contactIds, await outcomesOf(queries, asked), { made, refusals });
  };
  return { request, outcomesOf };
}

function outcomesIn({ table, item }: TextChannel): OutcomesOf {
  const statement = prepared(`${table}_of_occasion`, sendOfOccasion(table, item));
  return async ({ query }, { itemId, occasion, contactIds }) =>
    (await query(statement, [itemId, occasion, contactIds])).map(outcomeOfRow);
}
