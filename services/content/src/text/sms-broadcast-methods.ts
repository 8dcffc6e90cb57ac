import type { Database } from "@tidings/database/database";
import type { Outbox } from "@tidings/messaging/outbox";
import type { Sms, SmsMethodService } from "@tidings/proto/tidings/content/v1/sms";
import type { Repository } from "@tidings/resource/repository-options";
import type { Handlers } from "@tidings/rpc/definition";
import { SMS_BROADCASTS } from "../send/broadcast-kind.ts";
import { broadcastMethods } from "../send/broadcast-methods.ts";
import { readSegmentSend } from "../send/read-segments.ts";
import { addSmsBroadcast } from "./sms-broadcast.ts";

interface SmsBroadcastMethodOptions {
  database: Database;
  outbox: Outbox;
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

/** Sends of text messages to their segments. */
export function smsBroadcastMethods({
  database,
  outbox,
  rows,
  hasTransport,
  wake,
}: SmsBroadcastMethodOptions): Methods {
  const refusal = hasTransport ? undefined : NO_TRANSPORT;
  const broadcasts = broadcastMethods(SMS_BROADCASTS, { database, outbox, rows, refusal, wake });
  return {
    async sendSms({ id, ...sent }, call) {
      const sms = await rows.get(id, call);
      const asked = readSegmentSend(sent, sms);
      const isForSegments = sms.smsType === "list" && asked.segmentIds.length > 0;
      return broadcasts.begin({ id, isForSegments }, call, (transaction) =>
        addSmsBroadcast(transaction, { smsId: id, ...asked, createdBy: call.actor.id }),
      );
    },
    getSmsBroadcast: broadcasts.get,
    listSmsBroadcasts: broadcasts.list,
    controlSmsBroadcast: broadcasts.control,
  };
}
