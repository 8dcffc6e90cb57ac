import { createHash } from "node:crypto";
import { fromBinary } from "@bufbuild/protobuf";
import type { Event } from "@tidings/bus/event";
import {
  CompanyCreatedSchema,
  CompanyDeletedSchema,
  CompanyUpdatedSchema,
  ContactChannelChangedSchema,
  ContactCompanyChangedSchema,
  ContactCreatedSchema,
  ContactDeletedSchema,
  ContactPointsChangedSchema,
  ContactUpdatedSchema,
  SegmentMembershipChangedSchema,
} from "@tidings/proto/tidings/contact/v1/events";
import type { TriggerName } from "./triggers.ts";

/** What an event means to webhooks. */
export interface Occurrence {
  trigger: TriggerName;
  /** Of the event, or made of it where one event is told in several deliveries. */
  id: string;
  event: Event;
  /** The contact or company is gone: this was its id. */
  deletedId?: number;
  contact?: Source;
  company?: Source;
  /** What else is told. */
  members: Record<string, unknown>;
}

/** A contact or company, to be rendered by the contact service: as it was, or as it is. */
export type Source = { snapshot: Uint8Array } | { id: number };

const CONTACT = "tidings.contact.contact.";
const COMPANY = "tidings.contact.company.";
const SEGMENT = "tidings.contact.segment.";

/** None when no webhook is ever told of such an event. */
export function occurrencesOf(event: Event): Occurrence[] {
  const told = (
    trigger: TriggerName,
    what: Omit<Occurrence, "trigger" | "id" | "event" | "members">,
    members = {},
  ) => [{ trigger, id: event.id, event, ...what, members }];
  switch (event.subject) {
    case `${CONTACT}created`: {
      const { snapshot, identified } = fromBinary(ContactCreatedSchema, event.payload);
      return identified ? told("lead_post_save_new", { contact: { snapshot } }) : [];
    }
    case `${CONTACT}updated`: {
      const { snapshot, identified, newlyIdentified } = fromBinary(ContactUpdatedSchema, event.payload);
      if (newlyIdentified) return told("lead_post_save_new", { contact: { snapshot } });
      return identified ? told("lead_post_save_update", { contact: toldOrCurrent(snapshot, event) }) : [];
    }
    case `${CONTACT}deleted`: {
      const { snapshot } = fromBinary(ContactDeletedSchema, event.payload);
      return told("lead_post_delete", { contact: { snapshot }, deletedId: event.aggregateId });
    }
    case `${CONTACT}points_changed`: {
      const { snapshot, oldPoints, newPoints } = fromBinary(ContactPointsChangedSchema, event.payload);
      if (oldPoints <= 0 && newPoints <= 0) return [];
      const points = { old_points: oldPoints, new_points: newPoints };
      return told("lead_points_change", { contact: { snapshot } }, { points });
    }
    case `${CONTACT}channel_changed`: {
      const { snapshot, channel, ...status } = fromBinary(ContactChannelChangedSchema, event.payload);
      const change = { channel, old_status: status.oldStatus, new_status: status.newStatus };
      return told("lead_channel_subscription_changed", { contact: { snapshot } }, change);
    }
    case `${CONTACT}company_changed`: {
      const { snapshot, companyId, added } = fromBinary(ContactCompanyChangedSchema, event.payload);
      const contact = toldOrCurrent(snapshot, event);
      return told("lead_company_change", { contact, company: { id: companyId } }, { added });
    }
    case `${COMPANY}created`: {
      const { snapshot } = fromBinary(CompanyCreatedSchema, event.payload);
      return told("company_post_save", { company: { snapshot } });
    }
    case `${COMPANY}updated`: {
      const { snapshot } = fromBinary(CompanyUpdatedSchema, event.payload);
      return told("company_post_save", { company: { snapshot } });
    }
    case `${COMPANY}deleted`: {
      const { snapshot } = fromBinary(CompanyDeletedSchema, event.payload);
      return told("company_post_delete", { company: { snapshot }, deletedId: event.aggregateId });
    }
    case `${SEGMENT}membership_changed`:
      return membershipChanges(event);
    default:
      return [];
  }
}

/** What one statement changed for many contacts is told without snapshots of them. */
function toldOrCurrent(snapshot: Uint8Array, { aggregateId }: Event): Source {
  return snapshot.length > 0 ? { snapshot } : { id: aggregateId };
}

/** One event tells of many contacts; receivers are told of each. */
function membershipChanges(event: Event): Occurrence[] {
  const { segmentId, name, alias, action, contactIds } = fromBinary(
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
  }));
}

/** The same part of the same event has the same id, however often it comes (UUID version 8, RFC 9562). */
function partId(eventId: string, part: number): string {
  const bytes = createHash("sha256").update(`${eventId}/${part}`).digest().subarray(0, 16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
