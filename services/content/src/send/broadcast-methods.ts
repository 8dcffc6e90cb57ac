import { type Database, prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import type { Outbox } from "@tidings/messaging/outbox";
import type {
  ControlBroadcastRequest,
  GetBroadcastRequest,
  ListBroadcastsRequest,
} from "@tidings/proto/tidings/content/v1/broadcast";
import type { Call } from "@tidings/rpc/call";
import { conflict, notFound } from "@tidings/rpc/fault";
import { isOpen } from "../family/is-open.ts";
import { type BroadcastKind, EMAIL_BROADCASTS, SMS_BROADCASTS } from "./broadcast-kind.ts";
import { controlBroadcast } from "./control-broadcast.ts";
import { awaitBroadcast, listBroadcasts, readBroadcast } from "./read-broadcast.ts";
import { sendAction } from "./send-action.ts";

interface BroadcastMethodOptions {
  database: Database;
  outbox: Outbox;
  /** The entities that are sent. NOT_FOUND where the caller does not reach one. */
  rows: { get(id: number, call: Call): Promise<unknown> };
  /** Why no message can leave; undefined where they can. */
  refusal: string | undefined;
  /** Called once a broadcast begins, or may go on. */
  wake(): void;
}

const openStatementOf = ({ items }: BroadcastKind) =>
  prepared(`${items}_open_to_send`, `select from ${items} i where i.id = $1::integer and ${isOpen("i")}`);
const OPEN_STATEMENTS = {
  email: openStatementOf(EMAIL_BROADCASTS),
  sms: openStatementOf(SMS_BROADCASTS),
};

/** The methods of broadcasts of one kind: how callers begin, see and control them. */
export function broadcastMethods(
  kind: BroadcastKind,
  { database, outbox, rows, refusal, wake }: BroadcastMethodOptions,
) {
  const find = async (asked: { itemId: number; id: string }, deadlineMs: number) => {
    const broadcast = await readBroadcast(database, kind, asked, deadlineMs);
    if (!broadcast) throw notFound();
    return broadcast;
  };
  return {
    /** Begins what `add` adds. Nothing begins of an entity that goes to no segments: the id is empty. */
    async begin(
      { id: itemId, isForSegments }: { id: number; isForSegments: boolean },
      call: Call,
      add: (transaction: Transaction) => Promise<string>,
    ) {
      const [open] = await database.query(OPEN_STATEMENTS[kind.channel], [itemId], call.deadlineMs);
      if (!open) throw notFound();
      if (!isForSegments) return { broadcastId: "" };
      if (refusal !== undefined) throw conflict(refusal);
      const broadcastId = await database.transaction(call.deadlineMs, async (transaction) => {
        transaction.afterCommit(wake);
        const id = await add(transaction);
        outbox.append(transaction, [sendAction(kind.channel, itemId, "send", { send: id })]);
        return id;
      });
      return { broadcastId };
    },
    async list(asked: ListBroadcastsRequest, call: Call) {
      await rows.get(asked.itemId, call);
      return listBroadcasts(database, kind, asked, call.deadlineMs);
    },
    async get({ itemId, id, wait }: GetBroadcastRequest, call: Call) {
      await rows.get(itemId, call);
      const asked = { itemId, id };
      const { deadlineMs } = call;
      if (wait) await awaitBroadcast(database, kind, asked, deadlineMs);
      return find(asked, deadlineMs);
    },
    async control({ itemId, id, action }: ControlBroadcastRequest, call: Call) {
      await rows.get(itemId, call);
      const asked = { itemId, id };
      const { deadlineMs } = call;
      await find(asked, deadlineMs);
      await controlBroadcast({ database, outbox }, kind, { ...asked, action }, deadlineMs);
      wake();
      return find(asked, deadlineMs);
    },
  };
}
