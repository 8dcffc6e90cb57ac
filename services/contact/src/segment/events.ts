import { SegmentMembershipChangedSchema } from "@tidings/proto/tidings/contact/v1/events";
import { type DomainEvent, domainEvent } from "@tidings/store/outbox";
import type { Definition } from "./definitions.ts";

const CONTACTS_MAX = 500;

/** Contacts that came into a segment or left it. */
export interface MembershipChange {
  segmentId: number;
  contactId: number;
  isAdded: boolean;
}

/** Tells who came and went, many contacts in one event. */
export function membershipEvents(
  changes: MembershipChange[],
  definitionOf: (segmentId: number) => Pick<Definition, "id" | "version" | "name" | "alias"> | undefined,
): DomainEvent[] {
  const groups = Map.groupBy(changes, ({ segmentId, isAdded }) => `${segmentId} ${isAdded}`);
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    const definition = first && definitionOf(first.segmentId);
    if (!definition) return [];
    const ids = group.map(({ contactId }) => contactId);
    return slices(ids).map((contactIds) =>
      domainEvent("tidings.contact.segment.membership_changed", definition, SegmentMembershipChangedSchema, {
        segmentId: definition.id,
        name: definition.name,
        alias: definition.alias,
        action: first.isAdded ? "added" : "removed",
        contactIds,
      }),
    );
  });
}

function slices(ids: number[]): number[][] {
  const count = Math.ceil(ids.length / CONTACTS_MAX);
  return Array.from({ length: count }, (_, index) =>
    ids.slice(index * CONTACTS_MAX, (index + 1) * CONTACTS_MAX),
  );
}
