import { create } from "@bufbuild/protobuf";
import {
  type CampaignEvent,
  type CampaignEventLink,
  CampaignEventLinkSchema,
} from "@tidings/proto/tidings/campaign/v1/campaign";
import type { Violation } from "@tidings/rpc/fault";
import type { Link } from "./canvas.ts";

/** Events by what they are called: their ids, and what they were sent as. */
export type Named = ReadonlyMap<string, CampaignEvent>;

/** Returns the violations; two events that were sent under one name are one. */
export function namesOf(events: CampaignEvent[]): { named: Named; violations: Violation[] } {
  const named = new Map(events.map((event) => [String(event.id), event]));
  const violations: Violation[] = [];
  const sent = new Set<string>();
  for (const event of events.filter(({ sentId }) => sentId !== "")) {
    if (sent.has(event.sentId))
      violations.push({ field: pathOf(event), message: "Another event has the same id." });
    sent.add(event.sentId);
    named.set(event.sentId, event);
  }
  return { named, violations };
}

/** The path of an event in violations. */
export function pathOf({ id, sentId }: CampaignEvent, member?: string): string {
  return `events[${sentId || id}]${member ? `.${member}` : ""}`;
}

/** The links that events declare themselves. Where parent and child disagree, the child's link counts. */
export function ownLinks(events: CampaignEvent[]): Link[] {
  const listed = events.flatMap((event) =>
    event.children.map((child) => ({
      parent: event,
      child: nameOf(child),
      field: pathOf(event, "children"),
    })),
  );
  const parents = new Map(
    listed.map(({ parent, child, field }) => [child, { parent: nameOf(parent), field }]),
  );
  return events.flatMap((event) => {
    const path = event.decisionPath || undefined;
    const parent = event.parent && nameOf(event.parent);
    if (parent) return [{ parent, child: nameOf(event), path, field: pathOf(event, "parent") }];
    const known = parents.get(event.sentId) ?? parents.get(String(event.id));
    if (known) return [{ ...known, child: nameOf(event), path }];
    return [];
  });
}

function nameOf({ id, sentId }: CampaignEvent | CampaignEventLink): string {
  return sentId || String(id);
}

const DEPTH_MAX = 100;

/**
 * Gives events their parents, paths and levels, in place, and puts them in the order of their levels. Answers what of it
 * makes no graph.
 */
export function link(events: CampaignEvent[], links: Link[], named: Named): Violation[] {
  const violations: Violation[] = [];
  const parents = new Map<CampaignEvent, CampaignEvent>();
  const paths = new Map<CampaignEvent, string | undefined>();
  for (const { parent, child, path, field } of links) {
    const [source, target] = [named.get(parent), named.get(child)];
    if (!source || !target) {
      violations.push({ field, message: `There is no event ${source ? child : parent}.` });
    } else if (parents.has(target) && parents.get(target) !== source) {
      violations.push({ field, message: "An event has one parent." });
    } else {
      parents.set(target, source);
      paths.set(target, path);
    }
  }
  for (const event of events) {
    const parent = parents.get(event);
    if (parent) event.parent = create(CampaignEventLinkSchema, { id: parent.id });
    else delete event.parent;
    const path = parent ? paths.get(event) : event.decisionPath || undefined;
    if (path) event.decisionPath = path;
    else delete event.decisionPath;
    event.children = [];
  }
  return [...violations, ...level(events, parents)];
}

/** Events that no root reaches form a circle. */
function level(events: CampaignEvent[], parents: Map<CampaignEvent, CampaignEvent>): Violation[] {
  const children = Map.groupBy(
    events.filter((event) => parents.has(event)),
    (event) => parents.get(event),
  );
  const seen = new Set<CampaignEvent>();
  let row = events.filter((event) => !parents.has(event));
  for (let order = 1; row.length > 0; order += 1) {
    for (const event of row) {
      event.order = order;
      seen.add(event);
    }
    row = row.flatMap((event) => children.get(event) ?? []);
  }
  const inCircle = events.filter((event) => !seen.has(event));
  const tooDeep = events.filter((event) => seen.has(event) && event.order > DEPTH_MAX);
  events.sort((one, other) => one.order - other.order || one.id - other.id);
  return [
    ...inCircle.map((event) => ({
      field: pathOf(event, "parent"),
      message: "Events may not follow themselves.",
    })),
    ...tooDeep.map((event) => ({
      field: pathOf(event, "parent"),
      message: `At most ${DEPTH_MAX} events may follow each other.`,
    })),
  ];
}
