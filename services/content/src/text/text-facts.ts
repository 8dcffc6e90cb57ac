import { create, type DescMessage, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { backgroundDeadline, type Database, prepared, queryable } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import type { Queryable } from "@tidings/database/transaction";
import { factEvents } from "@tidings/messaging/fact-events";
import { type FactSource, factSource } from "@tidings/messaging/facts";
import type { DomainEvent } from "@tidings/messaging/outbox";
import { CATEGORY_JSON } from "@tidings/resource/category-reference";
import { carriedByAll } from "../send/send-facts.ts";
import { SendState } from "../send/send-tables.ts";
import { factReader } from "../visit/fact-kind.ts";
import type { TextChannel } from "./text-channel.ts";

/** How the events of a channel carry its sends. */
interface TextFactKind<S extends DescMessage> {
  channel: TextChannel;
  /** The message of an event, with up to 500 sends. */
  schema: S;
  /** Columns of the entities beside those that all have. */
  itemColumns: string[];
  /** Sends and the entities that they name, as rows. */
  messageOf(sends: Row[], items: Row[]): MessageInitShape<S>;
}

/** Sends of a channel as its events carry them. */
export interface TextFacts {
  channel: TextChannel;
  /** The columns of a send that its fact carries. */
  columns: string;
  /** The entities of sends as they are now; of those that are there. */
  itemsOf(queries: Queryable, ids: number[]): Promise<Row[]>;
  /** Events of sends that were decided, or read, with the columns of their facts, each with up to 500 of them. */
  events(
    verb: "sent" | "failed" | "suppressed" | "undelivered" | "clicked" | "read",
    sends: Row[],
    items: Row[],
  ): DomainEvent[];
  /** All sends, for services that make a replica of them from nothing. */
  source(database: Database): FactSource;
}

export function textFacts<S extends DescMessage>({
  channel,
  schema,
  itemColumns,
  messageOf,
}: TextFactKind<S>): TextFacts {
  const { name, table, items, item, copied, published } = channel;
  const columns = [
    ...[
      "hash",
      "version",
      "contact_id",
      item,
      "date_queued",
      "date_sent",
      "state",
      "reason",
      "code",
      "attempts",
      "address",
    ],
    ...["list_id", "occasion", "source", "source_id", "content", ...Object.keys(copied), ...published],
  ].join(", ");
  const itemsStatement = prepared(
    `${items}_of_sends`,
    `select ${["id", "name", "language", ...itemColumns].map((column) => `i.${column}`).join(", ")},
       (select ${CATEGORY_JSON} from categories where id = i.category_id) as category
     from ${items} i where i.id = any ($1::integer[])`,
  );
  const itemsOf: TextFacts["itemsOf"] = async ({ query }, ids) =>
    ids.length === 0 ? [] : query(itemsStatement, [[...new Set(ids)]]);
  const message = (sends: Row[], all: Row[]) => {
    const named = new Set(sends.map((row) => row[item]));
    return messageOf(
      sends,
      all.filter(({ id }) => named.has(id)),
    );
  };
  return {
    channel,
    columns,
    itemsOf,
    events: (verb, sends, all) =>
      factEvents(`tidings.content.${name}.${verb}`, schema, sends, (slice) => message(slice, all)),
    source: (database) =>
      factSource(database, {
        ...{ type: schema.typeName, table, key: "hash", columns: [columns] },
        async eventsOf(sends) {
          const queries = queryable(database, backgroundDeadline());
          const all = await itemsOf(
            queries,
            sends.map((row) => Number(row[item])),
          );
          return [toBinary(schema, create(schema, message(sends, all)))];
        },
      }),
  };
}

/** The members of a send that all channels with such ledgers carry. */
export function textMembers(row: Row) {
  const { text, time } = factReader(row);
  const dateAdded = time("date_sent");
  return {
    ...carriedByAll(row),
    ...(dateAdded && { dateAdded }),
    isFailed: text("state") === SendState.FAILED,
    content: text("content"),
  };
}

/** The members of an entity that all such events carry. */
export function itemMembers(row: Row) {
  return {
    id: Number(row.id),
    name: row.name ?? "",
    language: row.language ?? "",
    category: Buffer.from(row.category ?? "null"),
  };
}
