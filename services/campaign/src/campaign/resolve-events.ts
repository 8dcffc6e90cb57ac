import { isAllowedUrl, type Range } from "@tidings/outbound/address";
import type { Campaign, CampaignEvent } from "@tidings/proto/tidings/campaign/v1/campaign";
import type { Sent } from "@tidings/resource/draft";
import { propertiesOf } from "@tidings/resource/properties";
import { badRequest, type Fault, invalid, unfit, type Violation } from "@tidings/rpc/fault";
import { type Link, linksIn, readCanvas, writeCanvas } from "./canvas.ts";
import { resolveTypes } from "./event-rules.ts";
import { link, type Named, namesOf, ownLinks, pathOf } from "./links.ts";

/** Bytes of all properties of a campaign together. */
const PROPERTIES_MAX = 1_000_000;

interface Resolving {
  before: Campaign | undefined;
  sent: Sent<Campaign>;
  freeIds: number[];
  /** Private ranges that events may call all the same. */
  allowed: Range[];
}

/**
 * Makes one graph of the events and the canvas of a draft, in place. Where both were sent the canvas says what leads where,
 * otherwise events do by themselves. New events take their ids from `freeIds`. A write that names neither is not judged.
 */
export function resolveEvents(
  draft: Campaign,
  { before, sent, freeIds, allowed }: Resolving,
): Fault | Violation[] {
  const paths = sent.updateMask?.paths ?? ["*"];
  if (before && !["*", "events", "canvas_settings", "lists", "forms"].some((path) => paths.includes(path)))
    return [];
  // The rules of the message report it.
  if (draft.events.some(({ name, type }) => name === "" || type === "")) return [];
  const unnamed = sent.updateMask && paths.includes("*") ? unnamedIn(sent.message?.events ?? []) : undefined;
  if (unnamed) return unnamed;
  for (const event of draft.events.filter(({ id }) => id === 0)) event.id = freeIds.shift() ?? 0;
  const bytes = draft.events.reduce((total, { properties }) => total + (properties?.length ?? 0), 0);
  if (bytes > PROPERTIES_MAX)
    return [{ field: "events", message: `All properties may have ${PROPERTIES_MAX} bytes at most.` }];
  const canvas = readCanvas(draft.canvasSettings);
  if ("message" in canvas) return [canvas];
  const { named, violations } = namesOf(draft.events);
  if (violations.length > 0) return invalid(violations);
  const isDrawn = sent.message?.canvasSettings !== undefined && sent.message.events.length > 0;
  if (!isDrawn && paths.includes("*")) forgetUnsaid(draft.events, sent.message?.events ?? []);
  const links = withoutRemoved(isDrawn ? linksIn(canvas) : ownLinks(draft.events), before, named);
  const misfits = [
    ...link(draft.events, links, named),
    ...resolveTypes(draft.events, named),
    ...callProblems(draft.events, before, allowed),
  ];
  if (misfits.length > 0) return unfit(misfits);
  const sources = (["lists", "forms"] as const).filter((source) => draft[source].length > 0);
  draft.canvasSettings = writeCanvas(canvas, draft.events, { named, sources });
  for (const event of draft.events) event.sentId = "";
  return [];
}

/** Addresses that events call, unless they were there before. A URL with tokens is judged when it is called. */
function callProblems(events: CampaignEvent[], before: Campaign | undefined, allowed: Range[]): Violation[] {
  const known = new Set(before?.events.map((event) => propertiesOf(event).url));
  return events.flatMap((event) => {
    const { url } = propertiesOf(event);
    if (event.type !== "campaign.sendwebhook" || typeof url !== "string" || known.has(url)) return [];
    if (!URL.canParse(url) || isAllowedUrl(new URL(url), allowed)) return [];
    return [{ field: pathOf(event, "properties.url"), message: "This address is not public." }];
  });
}

/** A connection goes with the event at its end, where the same write removes that. */
function withoutRemoved(links: Link[], before: Campaign | undefined, named: Named): Link[] {
  const removed = new Set(before?.events.map(({ id }) => String(id)).filter((id) => !named.has(id)));
  return links.filter(({ parent, child }) => !removed.has(parent) && !removed.has(child));
}

/** A PUT without a canvas gives each event its parent: an event without one is a root. */
function forgetUnsaid(events: CampaignEvent[], sent: CampaignEvent[]): void {
  const said = new Map(sent.map((event) => [event.sentId, event]));
  for (const event of events) {
    const { parent, decisionPath } = said.get(event.sentId) ?? event;
    if (!parent) delete event.parent;
    if (!decisionPath) delete event.decisionPath;
  }
}

/** A PUT of all events has to name the id of each. */
function unnamedIn(events: CampaignEvent[]): Fault | undefined {
  const index = events.findIndex(({ sentId }) => sentId === "");
  return index < 0 ? undefined : badRequest(`$campaign[events][${index}]["id"] is missing`);
}
