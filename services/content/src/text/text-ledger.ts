import { type Database, prepared } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import type { Transaction } from "@tidings/database/transaction";
import type { Outbox } from "@tidings/messaging/outbox";
import { Verb } from "@tidings/proto/tidings/api/v1/options";
import type {
  ListSendsRequest,
  ReplaySendsRequest,
  ResolveSendRequest,
} from "@tidings/proto/tidings/content/v1/ledger";
import type { FindVisible } from "@tidings/resource/needs";
import type { Call } from "@tidings/rpc/call";
import { badRequest } from "@tidings/rpc/fault";
import {
  isOwned,
  ledgerMembers,
  nextPage,
  ofVisibleContacts,
  ownerOf,
  pageByState,
  readPage,
  resolvedRow,
  resolveRow,
} from "../send/ledger-rows.ts";
import { requestReplay } from "../send/replay-sends.ts";
import { SendState } from "../send/send-tables.ts";
import type { TextChannel } from "./text-channel.ts";
import type { TextKind } from "./text-kind.ts";

export interface TextLedgerOptions {
  database: Database;
  outbox: Outbox;
  findVisible: FindVisible;
  /** Is there a way for messages to leave? */
  hasTransport: boolean;
  /** Called once a send is to go out. */
  wake(): void;
}

/** The ledger of a channel as callers see it: sends of entities and contacts that they may view. */
export interface TextLedger<S> {
  /** The latest sends of an entity, of a contact, or of unknown outcome. INVALID_ARGUMENT where none of the three is named. */
  list(asked: ListSendsRequest, call: Call): Promise<{ sends: S[]; next: string }>;
  resolve(asked: ResolveSendRequest, call: Call): Promise<S>;
  /** Has failed sends of an entity tried again, as a job. */
  replay(asked: ReplaySendsRequest, call: Call): Promise<{ jobId: string }>;
}

interface ListedSends<S> {
  /** Columns beside those of all such ledgers. */
  columns: string[];
  toSend(row: Row): S;
}

/** The ledger of a channel, with its sends as callers see them. */
export function textLedger<S>(
  { facts: { channel, columns, itemsOf, events }, replays }: Pick<TextKind, "facts" | "replays">,
  { columns: listed, toSend }: ListedSends<S>,
): (options: TextLedgerOptions) => TextLedger<S> {
  const { name, one, plural, item } = channel;
  const prefix = `${name}-`;
  const { ofItem, ofContact, unknown, ...deciding } = statementsOf(channel, columns, listed);
  return ({ database, outbox, findVisible, hasTransport, wake }) => {
    const resolving = {
      ...{ database, findVisible, prefix, ...deciding, wake },
      async publish(transaction: Transaction, state: "sent" | "failed", row: Row) {
        const items = await itemsOf(transaction, [Number(row[item])]);
        outbox.append(transaction, events(state, [row], items));
      },
    };
    return {
      async list({ itemId, contactId, ...asked }, call) {
        const page = readPage(asked, prefix);
        const statement = contactId ? ofContact : itemId ? ofItem : unknown;
        if (statement === unknown && asked.state !== SendState.UNKNOWN)
          throw badRequest(
            `Sends of ${plural} are listed of a ${one} (${name}Id), of a contact (contactId), or with state=unknown.`,
          );
        const { after, size, states } = page;
        const values = [itemId || null, contactId || null, after, size, ownerOf(call, Verb.VIEW), states];
        const rows = await database.query(statement, values, call.deadlineMs);
        const sends = await ofVisibleContacts(rows, findVisible, call);
        return { sends: sends.map(toSend), next: nextPage(rows, page, prefix) };
      },
      resolve: async (asked, call) => toSend(await resolveRow(resolving, asked, call)),
      replay({ itemId, code }, call) {
        const refusal = hasTransport ? undefined : `No transport of ${plural} is set up.`;
        return requestReplay(database, replays, { member: `${name}Id`, itemId, code, refusal }, call);
      },
    };
  };
}

/** SQL: the query `recounted`, which has the broadcasts of changed sends counted anew. */
export function recounted(changed: string): string {
  return `recounted as (
    update broadcasts b set counts = null from (select distinct broadcast_id as id from ${changed}) c where b.id = c.id),`;
}

/** Each state of an entity's sends, and the sends of a contact, are read backwards by an index. */
function statementsOf(
  { name, table, items, item, hasBroadcasts }: TextChannel,
  factColumns: string,
  listed: string[],
) {
  const columns = [
    ...[
      "id",
      "occasion",
      "state",
      "reason",
      item,
      "contact_id",
      "address",
      "hash",
      "due_at",
      "started_at",
      "date_sent",
      "code",
    ],
    ...["content", ...listed],
  ].map((column) => `s.${column}`);
  const rows = `select ${columns.join(", ")} from ${table}`;
  const isBehind = `s.id < $3::bigint and ${isOwned(items, item, "$5")}`;
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
       select id, due_at, started_at, ${factColumns} from resolved`,
    ),
    findStatement: prepared(
      `${table}_find`,
      `select s.contact_id from ${table} s where s.id = $1::bigint and ${isOwned(items, item, "$2")}`,
    ),
  };
}

/** The members of a listed send that all such channels have. */
export function listedMembers({ name }: TextChannel, row: Row) {
  return {
    ...ledgerMembers(row),
    id: `${name}-${row.id}`,
    channel: name,
    contactId: Number(row.contact_id),
    text: row.content ?? "",
  };
}
