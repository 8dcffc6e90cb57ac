import type { Event } from "@tidings/bus/event";
import type { CompanySnapshot, ContactSnapshot } from "@tidings/proto/tidings/contact/v1/snapshot";
import type { TriggerName } from "./triggers.ts";

/** A trigger that an event fires, with the data of its deliveries. */
export interface Occurrence {
  trigger: TriggerName;
  /** The id of the event; where an event fires several triggers, one derived from it, or the id of the hit. */
  id: string;
  event: Event;
  /** The contact or company is gone: this was its id. */
  deletedId?: number;
  contact?: Source<ContactSnapshot>;
  company?: Source<CompanySnapshot>;
  /** Further members of the body. */
  members: Record<string, unknown>;
  /** Decides which owners may see the segment of the event. */
  segment?: { id: number; isGlobal: boolean; createdBy: number | undefined };
  /** Names the member, a hit or a submission, in which the contact stands as its lead. */
  lead?: Lead;
  /** Decides which owners receive the submission. */
  form?: { createdBy: number | undefined };
}

export interface Lead {
  /** The name of the member. */
  of: string;
  /** 0: nobody. */
  contactId: number;
}

/** A contact or company as it was when something happened to it, or the id of one that is sent as it is now. */
export type Source<S> = { snapshot: S } | { id: number };
