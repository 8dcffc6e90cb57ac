import { type DomainEvent, domainEvent } from "@tidings/messaging/outbox";
import { SegmentMembershipChangedSchema } from "@tidings/proto/tidings/contact/v1/events";
import { slices } from "@tidings/runtime/slices";

const CONTACTS_MAX = 500;

/** Contacts that came into a segment or left it. */
export interface MembershipChange {
  segmentId: number;
  contactId: number;
  isAdded: boolean;
}

/** A segment as membership events carry it. */
export interface NamedSegment {
  id: number;
  version: number;
  name: string;
  alias: string;
  isGlobal: boolean;
  createdBy: number | undefined;
}

/** Events of contacts that came or went, many contacts in one event. */
export function membershipEvents(
  changes: MembershipChange[],
  segmentOf: (segmentId: number) => NamedSegment | undefined,
): DomainEvent[] {
  const groups = Map.groupBy(changes, ({ segmentId, isAdded }) => `${segmentId} ${isAdded}`);
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    const segment = first && segmentOf(first.segmentId);
    if (!segment) return [];
    const ids = group.map(({ contactId }) => contactId);
    return slices(ids, CONTACTS_MAX).map((contactIds) =>
      domainEvent("tidings.contact.segment.membership_changed", segment, SegmentMembershipChangedSchema, {
        segmentId: segment.id,
        name: segment.name,
        alias: segment.alias,
        action: first.isAdded ? "added" : "removed",
        contactIds,
        isGlobal: segment.isGlobal,
        ...(segment.createdBy !== undefined && { createdBy: segment.createdBy }),
      }),
    );
  });
}
