import { type Broadcast, BroadcastSchema } from "@tidings/proto/tidings/content/v1/broadcast";
import { jsonBytes } from "@tidings/resource/json-member";
import { messageWriter } from "../rest/message-json.ts";
import { type Answer, jsonAnswer, messageAnswer, textAnswer } from "../route/answer.ts";
import { arrayOf, COUNT, closed, TEXT } from "../route/schema.ts";

/** The answer to a send to segments. */
export const BROADCAST_SENT = jsonAnswer(
  closed(
    {
      success: { const: 1 },
      ...{ sentCount: COUNT, failedCount: COUNT, failedRecipients: COUNT, queuedCount: COUNT },
      send: closed({ id: TEXT }),
    },
    ["send"],
  ),
);

/** The answer about one such send, and that about all of an entity. */
export const BROADCAST = messageAnswer("send", BroadcastSchema);
const writeBroadcast = messageWriter(BroadcastSchema);
export const BROADCASTS: Answer<string> = {
  ...textAnswer((components) => closed({ sends: arrayOf(components.answered(BroadcastSchema)) })),
  headers: ["Link"],
};
/** Nothing was begun. */
export const NOTHING_SENT = { success: 1, sentCount: 0, failedCount: 0, failedRecipients: 0, queuedCount: 0 };

export function broadcastsJson(broadcasts: Broadcast[]): string {
  return `{"sends":[${broadcasts.map((broadcast) => writeBroadcast(broadcast)).join(",")}]}`;
}

/** Members that the service reads, as JSON. */
export function sentMembers(body: Record<string, unknown>, names: string[]): Record<string, Uint8Array> {
  const sent = Object.entries(body).filter(([name]) => names.includes(name));
  return Object.fromEntries(sent.map(([name, value]) => [name, jsonBytes(value)]));
}

/** A recipient who waits is neither sent to nor failed. */
export function broadcastJson({ id, sent, failed, suppressed, queued, deferred, sending }: Broadcast) {
  return {
    success: 1,
    ...{ sentCount: sent, failedCount: failed + suppressed, failedRecipients: failed + suppressed },
    queuedCount: queued + deferred + sending,
    send: { id },
  };
}
