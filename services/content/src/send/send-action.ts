import { type DomainEvent, domainEvent } from "@tidings/messaging/outbox";
import { SendActionSchema } from "@tidings/proto/tidings/content/v1/events";
import { jsonBytes } from "@tidings/resource/json-member";

/** Actions of callers about the sends of an entity. */
type Action = "send" | "pause" | "resume" | "cancel" | "resolve" | "replay" | "test";

/** The event by which the audit learns that a caller sent an entity of a channel, or decided about its sends. It has the actor of the call. */
export function sendAction(
  channel: string,
  itemId: number,
  action: Action,
  details: Record<string, unknown>,
): DomainEvent {
  const aggregate = { id: itemId, version: 0 };
  const acted = { action, details: jsonBytes(details) };
  return domainEvent(`tidings.content.${channel}.acted`, aggregate, SendActionSchema, acted);
}
