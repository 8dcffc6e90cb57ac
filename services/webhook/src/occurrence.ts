import { fromBinary } from "@bufbuild/protobuf";
import type { Event } from "@tidings/bus/event";
import {
  ContactCreatedSchema,
  ContactDeletedSchema,
  ContactPointsChangedSchema,
  ContactUpdatedSchema,
} from "@tidings/proto/tidings/contact/v1/events";
import type { TriggerName } from "./triggers.ts";

/** What an event means to webhooks. */
export interface Occurrence {
  trigger: TriggerName;
  event: Event;
  /** Of the contact, to be rendered by the contact service. */
  snapshot: Uint8Array;
  /** The contact is gone: this was its id. */
  deletedId?: number;
  points?: { old_points: number; new_points: number };
}

const CONTACT = "tidings.contact.contact.";

/** Undefined when no webhook is ever told of such an event. */
export function occurrenceOf(event: Event): Occurrence | undefined {
  switch (event.subject) {
    case `${CONTACT}created`: {
      const { snapshot, identified } = fromBinary(ContactCreatedSchema, event.payload);
      return identified ? { trigger: "lead_post_save_new", event, snapshot } : undefined;
    }
    case `${CONTACT}updated`: {
      const { snapshot, identified, newlyIdentified } = fromBinary(ContactUpdatedSchema, event.payload);
      if (newlyIdentified) return { trigger: "lead_post_save_new", event, snapshot };
      return identified ? { trigger: "lead_post_save_update", event, snapshot } : undefined;
    }
    case `${CONTACT}deleted`: {
      const { snapshot } = fromBinary(ContactDeletedSchema, event.payload);
      return { trigger: "lead_post_delete", event, snapshot, deletedId: event.aggregateId };
    }
    case `${CONTACT}points_changed`: {
      const { snapshot, oldPoints, newPoints } = fromBinary(ContactPointsChangedSchema, event.payload);
      if (oldPoints <= 0 && newPoints <= 0) return undefined;
      const points = { old_points: oldPoints, new_points: newPoints };
      return { trigger: "lead_points_change", event, snapshot, points };
    }
    default:
      return undefined;
  }
}
