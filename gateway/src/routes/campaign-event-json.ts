import {
  CampaignEventSchema,
  CampaignLinkSchema,
  type ContactLog,
  type EditedEventLog,
  EventLogSchema,
  type EventWithLogs,
  type LocatedEvent,
} from "@tidings/proto/tidings/campaign/v1/campaign";
import { messageWriter } from "../rest/message-json.ts";
import { arrayOf, type Components, extended, type Schema } from "../route/schema.ts";

/** Events of campaigns as they are answered: each with its campaign or its log. */

export const writeLink = messageWriter(CampaignLinkSchema);
const writeEvent = messageWriter(CampaignEventSchema);
const writeLog = messageWriter(EventLogSchema);

/** A JSON object with more members, which are JSON themselves. */
function withMember(json: string, members: Record<string, string>): string {
  const added = Object.entries(members).map(([name, value]) => `"${name}":${value}`);
  return json === "{}" ? `{${added.join(",")}}` : `${json.slice(0, -1)},${added.join(",")}}`;
}

export function writeOr<M>(write: (message: M) => string, message: M | undefined): string {
  return message ? write(message) : "null";
}

export function linkOrNull(components: Components): Schema {
  return { anyOf: [components.answered(CampaignLinkSchema), { type: "null" }] };
}

export function writeLocated({ event, campaign }: LocatedEvent): string {
  return withMember(event ? writeEvent(event) : "{}", { campaign: writeOr(writeLink, campaign) });
}

export function describeLocated(components: Components): Schema {
  return extended(components.members(CampaignEventSchema), { campaign: linkOrNull(components) });
}

export function writeContactLog({ event, log }: ContactLog): string {
  return withMember(log ? writeLog(log) : "{}", {
    event: writeOr(writeEvent, event?.event),
    campaign: writeOr(writeLink, event?.campaign),
  });
}

export function describeContactLog(components: Components): Schema {
  return extended(components.members(EventLogSchema), {
    event: { anyOf: [components.answered(CampaignEventSchema), { type: "null" }] },
    campaign: linkOrNull(components),
  });
}

export function writeWithLogs({ event, logs }: EventWithLogs): string {
  return withMember(event ? writeEvent(event) : "{}", {
    contactLog: `[${logs.map((log) => writeLog(log)).join(",")}]`,
  });
}

export function describeWithLogs(components: Components, more: Record<string, Schema> = {}): Schema {
  const contactLog = arrayOf(components.answered(EventLogSchema));
  return extended(components.members(CampaignEventSchema), { contactLog, ...more });
}

export function writeEdited({ event, campaign }: EditedEventLog): string {
  return withMember(event ? writeWithLogs(event) : "{}", { campaign: writeOr(writeLink, campaign) });
}

export function describeEdited(components: Components): Schema {
  return describeWithLogs(components, { campaign: linkOrNull(components) });
}
