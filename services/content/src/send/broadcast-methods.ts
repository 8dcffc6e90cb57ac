import type { Database } from "@tidings/database/database";
import { notFound } from "@tidings/rpc/fault";
import type { BroadcastKind } from "./broadcast-kind.ts";
import { controlBroadcast } from "./control-broadcast.ts";
import { awaitBroadcast, readBroadcasts } from "./read-broadcast.ts";

/** How callers see and control broadcasts of one kind. Whether they may is decided before. */
export function broadcastMethods(database: Database, kind: BroadcastKind) {
  const list = (itemId: number, deadlineMs: number) => readBroadcasts(database, kind, { itemId }, deadlineMs);
  const get = async (itemId: number, id: string, deadlineMs: number) => {
    const [broadcast] = await readBroadcasts(database, kind, { itemId, id }, deadlineMs);
    if (!broadcast) throw notFound();
    return broadcast;
  };
  return {
    list,
    get,
    async await(itemId: number, id: string, deadlineMs: number) {
      const broadcast = await awaitBroadcast(database, kind, { itemId, id }, deadlineMs);
      if (!broadcast) throw notFound();
      return broadcast;
    },
    async control(asked: { itemId: number; id: string; action: string }, deadlineMs: number) {
      await get(asked.itemId, asked.id, deadlineMs);
      await controlBroadcast(database, kind, asked, deadlineMs);
      return get(asked.itemId, asked.id, deadlineMs);
    },
  };
}
