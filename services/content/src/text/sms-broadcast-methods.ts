import { type Database, prepared } from "@tidings/database/database";
import type { Sms, SmsMethodService } from "@tidings/proto/tidings/content/v1/sms";
import type { Repository } from "@tidings/resource/repository-options";
import type { Handlers } from "@tidings/rpc/definition";
import { conflict, notFound } from "@tidings/rpc/fault";
import { isOpen } from "../family/is-open.ts";
import { SMS_BROADCASTS } from "../send/broadcast-kind.ts";
import { broadcastMethods } from "../send/broadcast-methods.ts";
import { readCount, readLists } from "../send/read-segments.ts";
import { addSmsBroadcast } from "./sms-broadcast.ts";

interface SmsBroadcastMethodOptions {
  database: Database;
  rows: Repository<Sms>;
  /** Is there a way for text messages to leave? */
  hasTransport: boolean;
  /** Called once a broadcast begins, or goes on. */
  wake(): void;
}

type Methods = Pick<
  Handlers<typeof SmsMethodService>,
  "sendSms" | "getSmsBroadcast" | "listSmsBroadcasts" | "controlSmsBroadcast"
>;

const NO_TRANSPORT = "No transport of text messages is set up (SMS_URL).";
const openStatement = prepared("smses_open_now", `select from smses s where s.id = $1 and ${isOpen("s")}`);

/** Sends of text messages to their segments. */
export function smsBroadcastMethods({
  database,
  rows,
  hasTransport,
  wake,
}: SmsBroadcastMethodOptions): Methods {
  const broadcasts = broadcastMethods(database, SMS_BROADCASTS);
  return {
    async sendSms({ id, lists, limit, batch }, call) {
      const sms = await rows.get(id, call);
      const segmentIds = readLists(lists, sms);
      const recipientsMax = readCount("limit", limit);
      // Messages share their connections whatever the size of a batch: it is read for the clients that say one.
      readCount("batch", batch);
      const [open] = await database.query(openStatement, [id], call.deadlineMs);
      if (!open) throw notFound();
      if (sms.smsType !== "list" || segmentIds.length === 0) return { broadcastId: "" };
      if (!hasTransport) throw conflict(NO_TRANSPORT);
      const createdBy = call.actor.id;
      const broadcastId = await database.transaction(call.deadlineMs, async (transaction) => {
        transaction.afterCommit(wake);
        return addSmsBroadcast(transaction, { smsId: id, segmentIds, recipientsMax, createdBy });
      });
      return { broadcastId };
    },
    async getSmsBroadcast({ smsId, id, wait }, call) {
      await rows.get(smsId, call);
      return wait ? broadcasts.await(smsId, id, call.deadlineMs) : broadcasts.get(smsId, id, call.deadlineMs);
    },
    async listSmsBroadcasts({ smsId }, call) {
      await rows.get(smsId, call);
      return { broadcasts: await broadcasts.list(smsId, call.deadlineMs) };
    },
    async controlSmsBroadcast({ smsId: itemId, id, action }, call) {
      await rows.get(itemId, call);
      const broadcast = await broadcasts.control({ itemId, id, action }, call.deadlineMs);
      wake();
      return broadcast;
    },
  };
}
