import { fromBinary } from "@bufbuild/protobuf";
import type { Event } from "@tidings/bus/event";
import { companySnapshot, contactSnapshot } from "@tidings/contacts/row-snapshot";
import type { Row } from "@tidings/database/statement";
import {
  CompanyCreatedSchema,
  CompanyDeletedSchema,
  CompanyUpdatedSchema,
  ContactDeletedSchema,
  ContactSavedSchema,
  SegmentMembershipChangedSchema,
} from "@tidings/proto/tidings/contact/v1/events";
import { parseJson } from "@tidings/resource/json-member";
import { type Occurrence, partId, type Source } from "./occurrence.ts";

const CONTACT = "tidings.contact.contact.";
const COMPANY = "tidings.contact.company.";
const SEGMENT = "tidings.contact.segment.";

/** The occurrences of events of contacts, companies and segments, by subject. */
export const contactOccurrences: Record<string, (event: Event) => Occurrence[]> = {
  [`${CONTACT}created`]: contactSaves,
  [`${CONTACT}updated`]: contactSaves,
  [`${CONTACT}reassigned`]: contactSaves,
  [`${CONTACT}deleted`]: (event) => {
    const contact = contactSource(fromBinary(ContactDeletedSchema, event.payload), event);
    return occurred(event, { trigger: "lead_post_delete", contact, deletedId: event.aggregateId });
  },
  [`${COMPANY}created`]: (event) => {
    const company = companySource(fromBinary(CompanyCreatedSchema, event.payload), event);
    return occurred(event, { trigger: "company_post_save", company });
  },
  [`${COMPANY}updated`]: (event) => {
    const company = companySource(fromBinary(CompanyUpdatedSchema, event.payload), event);
    return occurred(event, { trigger: "company_post_save", company });
  },
  [`${COMPANY}deleted`]: (event) => {
    const company = companySource(fromBinary(CompanyDeletedSchema, event.payload), event);
    return occurred(event, { trigger: "company_post_delete", company, deletedId: event.aggregateId });
  },
  [`${SEGMENT}membership_changed`]: membershipChanges,
};

/** The one occurrence of an event. */
function occurred(event: Event, occurrence: Omit<Occurrence, "id" | "event" | "members">): Occurrence[] {
  return [{ id: event.id, event, ...occurrence, members: {} }];
}

/** One save can fire several triggers (saved, points changed, …). The save itself has the event's id. */
function contactSaves(event: Event): Occurrence[] {
  const saved = fromBinary(ContactSavedSchema, event.payload);
  const { identified, newlyIdentified, points, channels, companies } = saved;
  const contact = contactSource(saved, event);
  const isNew = event.subject === `${CONTACT}created` || newlyIdentified;
  const trigger = isNew ? ("lead_post_save_new" as const) : ("lead_post_save_update" as const);
  const part = (name: string, told: Pick<Occurrence, "trigger" | "members" | "company">): Occurrence => ({
    id: partId(event.id, name),
    event,
    contact,
    ...told,
  });
  return [
    ...(points && (points.oldPoints > 0 || points.newPoints > 0)
      ? [
          part("points", {
            trigger: "lead_points_change",
            members: { points: { old_points: points.oldPoints, new_points: points.newPoints } },
          }),
        ]
      : []),
    ...channels.map(({ channel, oldStatus, newStatus }) =>
      part(`channel ${channel}`, {
        trigger: "lead_channel_subscription_changed",
        members: { channel, old_status: oldStatus, new_status: newStatus },
      }),
    ),
    ...companies.map(({ companyId, added }) =>
      part(`company ${companyId}`, {
        trigger: "lead_company_change",
        company: { id: companyId },
        members: { added },
      }),
    ),
    ...(identified ? [{ trigger, id: event.id, event, contact, members: {} }] : []),
  ];
}

const contactSource = sourceOf(contactSnapshot);
const companySource = sourceOf(companySnapshot);

/** Events from before snapshots were messages have a row instead, or nothing where one statement changed many contacts. */
function sourceOf<S>(snapshotOf: (row: Row) => S) {
  return (
    { snapshot, row }: { snapshot?: S | undefined; row: Uint8Array },
    { aggregateId }: Event,
  ): Source<S> => {
    if (snapshot) return { snapshot };
    return row.length > 0 ? { snapshot: snapshotOf(parseJson(row)) } : { id: aggregateId };
  };
}

/** One event is about many contacts; receivers get one delivery for each. */
function membershipChanges(event: Event): Occurrence[] {
  const { segmentId, name, alias, action, contactIds, isGlobal, createdBy } = fromBinary(
    SegmentMembershipChangedSchema,
    event.payload,
  );
  const segment = { id: segmentId, name, alias };
  return contactIds.map((id) => ({
    trigger: "lead_list_change" as const,
    id: partId(event.id, id),
    event,
    contact: { id },
    members: { segment, action },
    segment: { id: segmentId, isGlobal: isGlobal ?? false, createdBy },
  }));
}
