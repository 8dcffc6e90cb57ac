import type { CampaignEvent } from "@tidings/proto/tidings/campaign/v1/campaign";
import { type JsonObject, jsonBytes } from "@tidings/resource/json-member";
import { propertiesOf, resolveProperties } from "@tidings/resource/properties";
import type { Violation } from "@tidings/rpc/fault";
import { type EventType, eventTypes } from "./event-types.ts";
import { readName } from "./json.ts";
import { type Named, pathOf } from "./links.ts";

const MODES: ReadonlySet<string> = new Set(["immediate", "interval", "date", "optimized"]);
/** A shorter wait would send a contact through its own campaign in a loop. */
const RESTART_MINUTES_MIN = 30;

/**
 * Checks events whose places in the graph are resolved, and sets, in place, what follows from their types: kind,
 * channel, the target of a jump.
 */
export function resolveTypes(events: CampaignEvent[], named: Named): Violation[] {
  const byId = new Map(events.map((event) => [event.id, event]));
  return events.flatMap((event) => {
    const type = eventTypes.get(event.type);
    if (!type)
      return [{ field: pathOf(event, "type"), message: `There is no type of event "${event.type}".` }];
    if (event.eventType !== "" && event.eventType !== type.kind)
      return [
        { field: pathOf(event, "eventType"), message: `An event of type ${event.type} is a ${type.kind}.` },
      ];
    event.eventType = type.kind;
    const misfits = resolveProperties(event, type.properties, pathOf(event, "properties"));
    const properties = propertiesOf(event);
    return [
      ...misfits,
      ...jumpProblems(event, properties, named),
      ...placeProblems(event, type, event.parent && byId.get(event.parent.id)),
      ...resolveTrigger(event, type, properties),
      ...resolveChannel(event, type, properties),
    ];
  });
}

/** The target may be named as it was sent; it is kept by its id. */
function jumpProblems(event: CampaignEvent, properties: JsonObject, named: Named): Violation[] {
  if (event.type !== "campaign.jump_to_event") return [];
  const field = pathOf(event, "properties.jumpToEvent");
  const target = named.get(readName(properties.jumpToEvent) ?? "");
  if (!target) return [{ field, message: "This is no event of the campaign." }];
  if (target === event) return [{ field, message: "An event cannot jump to itself." }];
  if (eventTypes.get(target.type)?.kind === "decision")
    return [{ field, message: "A decision cannot be jumped to." }];
  event.properties = jsonBytes({ ...properties, jumpToEvent: target.id });
  return [];
}

function placeProblems(
  event: CampaignEvent,
  type: EventType,
  parent: CampaignEvent | undefined,
): Violation[] {
  const parentType = parent && eventTypes.get(parent.type);
  if (parentType?.isLast)
    return [{ field: pathOf(event, "parent"), message: `Nothing follows an event of type ${parent?.type}.` }];
  const { decisionPath } = event;
  if (decisionPath !== undefined && !["yes", "no"].includes(decisionPath))
    return [{ field: pathOf(event, "decisionPath"), message: "This is neither yes nor no." }];
  // An unknown parent type has a violation of its own.
  const hasPaths = !parent || (parentType !== undefined && parentType.kind !== "action");
  if (decisionPath && (!parent || (parentType && !hasPaths)))
    return [
      { field: pathOf(event, "decisionPath"), message: "Only decisions and conditions have two ways." },
    ];
  const { under } = type;
  const isUnder = under?.types.includes(parent?.type ?? "") && (!under.path || decisionPath === under.path);
  if (!under || isUnder) return [];
  const way = under.path ? `the ${under.path} way of ` : "";
  const message = `An event of type ${event.type} follows ${way}${under.types.join(" or ")}.`;
  return [{ field: pathOf(event, "parent"), message }];
}

/** Decisions wait for the contact and for nothing else. */
function resolveTrigger(event: CampaignEvent, { kind }: EventType, properties: JsonObject): Violation[] {
  const problem = (member: string, message: string) => [{ field: pathOf(event, member), message }];
  if (kind === "decision" || event.triggerMode === "") delete event.triggerMode;
  const { triggerMode, triggerInterval, triggerIntervalUnit } = event;
  if (triggerMode !== undefined && !MODES.has(triggerMode))
    return problem("triggerMode", `This is not one of ${[...MODES].join(", ")}.`);
  if (triggerIntervalUnit === "") delete event.triggerIntervalUnit;
  for (const member of ["triggerHour", "triggerRestrictedStartHour", "triggerRestrictedStopHour"] as const) {
    const sent = event[member];
    const hour = sent === undefined || sent === "" ? undefined : hourIn(sent);
    if (sent && !hour) return problem(member, "This is not a time of day, HH:MM.");
    if (hour) event[member] = hour;
    else delete event[member];
  }
  const days = event.triggerRestrictedDaysOfWeek;
  if (days.some((day) => day < -1 || day > 6) || new Set(days).size < days.length)
    return problem("triggerRestrictedDaysOfWeek", "Days are from 0 (Sunday) to 6, or -1, each once.");
  const { addTo } = properties;
  const isRestart = event.type === "campaign.addremovelead" && Array.isArray(addTo) && addTo.includes("this");
  const minutes = triggerIntervalUnit === "i" ? (triggerInterval ?? 0) : RESTART_MINUTES_MIN;
  if (isRestart && (triggerMode === undefined || triggerMode === "immediate"))
    return problem("triggerMode", "A campaign cannot be restarted immediately.");
  if (isRestart && triggerMode === "interval" && minutes < RESTART_MINUTES_MIN)
    return problem(
      "triggerInterval",
      `A campaign is restarted after ${RESTART_MINUTES_MIN} minutes at least.`,
    );
  return [];
}

/** `H:i`, also with seconds. */
function hourIn(text: string): string | undefined {
  const [, hour = "", minute = ""] = /^([01]?\d|2[0-3]):([0-5]\d)(?::[0-5]\d)?$/.exec(text.trim()) ?? [];
  return hour === "" ? undefined : `${hour.padStart(2, "0")}:${minute}`;
}

/** The entity is known where the property names a single one. */
function resolveChannel(event: CampaignEvent, { channel }: EventType, properties: JsonObject): Violation[] {
  delete event.channel;
  delete event.channelId;
  if (!channel) return [];
  event.channel = channel.name;
  const named =
    channel.property && Object.hasOwn(properties, channel.property) && properties[channel.property];
  const [single, ...others] = [named].flat();
  if (typeof single === "number" && others.length === 0) event.channelId = single;
  return [];
}
