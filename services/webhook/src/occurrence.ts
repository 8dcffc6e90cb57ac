import { createHash } from "node:crypto";
import type { Event } from "@tidings/bus/event";
import type { CompanySnapshot, ContactSnapshot } from "@tidings/proto/tidings/contact/v1/snapshot";
import type { TriggerName } from "./triggers.ts";

/** A trigger that an event fires, with the data of its deliveries. */
export interface Occurrence {
  trigger: TriggerName;
  /** The id of the event; where an event fires several triggers, one derived from it, or the id of the hit or send. */
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
  /** The contact as it is now, which an erased one is not any more. */
  lead?: Lead;
  /** The send whose mail is written again for this. */
  mail?: { hash: string };
  /** Decides which owners receive the submission. */
  form?: { createdBy: number | undefined };
}

export interface Lead {
  /** The name of the member in which the contact stands as its lead: a hit, a submission, a stat. */
  of: string;
  /** The member is the contact itself: by the aliases of its fields, or whole. */
  as?: "flat" | "whole";
  /** 0: nobody. */
  contactId: number;
}

/** A contact or company as it was when something happened to it, or the id of one that is sent as it is now. */
export type Source<S> = { snapshot: S } | { id: number };

/** The same part of the same event or fact has the same id, however often it comes (UUID version 8, RFC 9562). */
export function partId(id: string, part: number | string): string {
  const bytes = createHash("sha256").update(`${id}/${part}`).digest().subarray(0, 16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
