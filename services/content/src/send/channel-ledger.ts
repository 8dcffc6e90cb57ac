import { type Database, prepared } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import type { Queryable, Transaction } from "@tidings/database/transaction";
import type { DomainEvent, Outbox } from "@tidings/messaging/outbox";
import { Verb } from "@tidings/proto/tidings/api/v1/options";
import type {
  ListSendsRequest,
  ReplaySendsRequest,
  ResolveSendRequest,
} from "@tidings/proto/tidings/content/v1/ledger";
import type { FindVisible } from "@tidings/resource/needs";
import type { Call } from "@tidings/rpc/call";
import { badRequest } from "@tidings/rpc/fault";
import { filterValues, isFiltered, readFilter } from "./ledger-filter.ts";
import {
  isDeferredAs,
  isOwned,
  nextPage,
  ofVisibleContacts,
  ownerOf,
  pageByState,
  readPage,
  recounted,
  resolvedRow,
  resolveRow,
} from "./ledger-rows.ts";
import { type Replays, requestReplay } from "./replay-sends.ts";
import { sendAction } from "./send-action.ts";
import { SendState } from "./send-tables.ts";

export interface LedgerOptions {
  database: Database;
  outbox: Outbox;
  findVisible: FindVisible;
  /** Is there a way for messages to leave? */
  hasTransport: boolean;
  /** Called once a send is to go out. */
  wake(): void;
}

/** The ledger of a channel as callers see it: sends of entities and contacts that they may view. */
export interface Ledger<S> {
  /** The latest sends of an entity, of a contact, or of unknown outcome. INVALID_ARGUMENT where none of the three is named. */
  list(asked: ListSendsRequest, call: Call): Promise<{ sends: S[]; next: string }>;
  resolve(asked: ResolveSendRequest, call: Call): Promise<S>;
  /** Has failed sends of an entity tried again, as a job. */
  replay(asked: ReplaySendsRequest, call: Call): Promise<{ jobId: string }>;
}

/** A channel with its sends as callers see them. */
interface LedgerKind<S, I> {
  name: string;
  /** Its ledger. */
  table: string;
  /** The entities that its messages are made of, and the column of the ledger that names one. */
  items: string;
  item: string;
  hasBroadcasts?: true | undefined;
  /** Ids of its sends begin with it. */
  prefix: string;
  /** Columns beside those of all ledgers. */
  columns: string[];
  toSend(row: Row): S;
  /** How its events carry sends, with the entities that these name. */
  facts: {
    columns: string;
    itemsOf(queries: Queryable, ids: number[]): Promise<I[]>;
    events(verb: "sent" | "failed", sends: Row[], items: I[]): DomainEvent[];
  };
  replays: Replays;
  /** Where neither an entity nor a contact is named; where messages have no way to leave. */
  refusals: { list: string; replay: string };
}

/** The ledger of a channel. */
export function channelLedger<S, I>(kind: LedgerKind<S, I>): (options: LedgerOptions) => Ledger<S> {
  const { name, item, prefix, toSend, facts, replays, refusals } = kind;
  const { ofItem, ofContact, unknown, ...deciding } = statementsOf(kind);
  return ({ database, outbox, findVisible, hasTransport, wake }) => {
    const resolving = {
      ...{ database, findVisible, prefix, ...deciding, wake },
      async publish(transaction: Transaction, state: "sent" | "failed", row: Row) {
        const items = await facts.itemsOf(transaction, [Number(row[item])]);
        outbox.append(transaction, facts.events(state, [row], items));
      },
      note(transaction: Transaction, as: string, row: Row) {
        const details = { send: `${prefix}${row.id}`, contactId: Number(row.contact_id), as };
        outbox.append(transaction, [sendAction(name, Number(row[item]), "resolve", details)]);
      },
    };
    return {
      async list({ itemId, contactId, ...asked }, call) {
        const page = readPage(asked, prefix);
        const statement = contactId ? ofContact : itemId ? ofItem : unknown;
        if (statement === unknown && asked.state !== SendState.UNKNOWN) throw badRequest(refusals.list);
        const { after, size, states, isDeferred } = page;
        const values = [
          ...[itemId || null, contactId || null, after, size, ownerOf(call, Verb.VIEW), states, isDeferred],
          ...filterValues(readFilter(asked)),
        ];
        const rows = await database.query(statement, values, call.deadlineMs);
        const sends = await ofVisibleContacts(rows, findVisible, call);
        return { sends: sends.map(toSend), next: nextPage(rows, page, prefix) };
      },
      resolve: async (asked, call) => toSend(await resolveRow(resolving, asked, call)),
      replay({ itemId, ...asked }, call) {
        const refusal = hasTransport ? undefined : refusals.replay;
        const request = { channel: name, member: `${name}Id`, itemId, filter: readFilter(asked), refusal };
        return requestReplay({ database, outbox }, replays, request, call);
      },
    };
  };
}

/** Each state of an entity's sends, and the sends of a contact, are read backwards by an index. */
function statementsOf<S, I>({ name, table, items, item, hasBroadcasts, columns, facts }: LedgerKind<S, I>) {
  const all =
    `id occasion state reason ${item} contact_id address hash due_at started_at date_sent code`.split(" ");
  const rows = `select ${[...all, ...columns].map((column) => `s.${column}`).join(", ")} from ${table}`;
  const isBehind = `s.id < $3::bigint and ${isOwned(items, item, "$5")} and ${isDeferredAs("$7")} and ${isFiltered(8)}`;
  const page = `and ${isBehind} order by s.id desc limit $4::integer`;
  return {
    ofItem: prepared(
      `${table}_of_${name}`,
      pageByState(rows, {
        isAsked: `s.${item} = $1::integer and $2::integer is null and ${isBehind}`,
        states: "$6",
        size: "$4",
      }),
    ),
    ofContact: prepared(
      `${table}_of_contact`,
      `${rows} s
       where s.contact_id = $2::integer and ($1::integer is null or s.${item} = $1::integer) and s.state = any ($6::text[]) ${page}`,
    ),
    unknown: prepared(
      `${table}_unknown`,
      `${rows} s
       where $1::integer is null and $2::integer is null and s.state = 'unknown' and s.state = any ($6::text[]) ${page}`,
    ),
    // A marketing message stays where it is, whatever is decided: its send of unknown outcome has ended it.
    resolveStatement: prepared(
      `${table}_resolve`,
      `with ${resolvedRow(table, isOwned(items, item, "$3"))}, ${hasBroadcasts ? recounted("resolved") : ""} counted as (
         update ${items} m set sent_count = m.sent_count + 1 from resolved where m.id = resolved.${item} and resolved.state = 'sent')
       select id, due_at, started_at, ${facts.columns} from resolved`,
    ),
    findStatement: prepared(
      `${table}_find`,
      `select s.contact_id from ${table} s where s.id = $1::bigint and ${isOwned(items, item, "$2")}`,
    ),
  };
}
