import { v7 } from "uuid";
import type { Verdict } from "./machine.ts";
import type { Sighting } from "./visitors.ts";

/** A page that was seen, or a link that was followed. */
export interface Hit extends Omit<Sighting, "deviceId" | "hitId" | "isNewDevice">, Verdict {
  /** A UUIDv7 (RFC 9562, 5.7) of the time of the hit. */
  id: string;
  /** The browser, where it may be known. */
  device: { id: string; isNew: boolean } | undefined;
  /** A landing page, and the page that it is a variant of. */
  pageId?: number | undefined;
  variantParentId?: number | undefined;
  /** The landing page as it is shown; its category as JSON. */
  page?: { title: string; alias: string; category: string } | undefined;
  /** A tracked link. */
  redirectId?: number | undefined;
  emailId?: number | undefined;
  /** The channel that led here, and its id. */
  source: string;
  sourceId?: number | undefined;
  /** The HTTP status of the answer. */
  code: number;
  urlTitle: string;
  pageLanguage: string;
  browserLanguages: string[];
  /** Values by aliases of fields that the page sent of its visitor, and tags. */
  values: Record<string, string>;
  tags: string;
}

/** The id of something that happened now, and its time in milliseconds. */
export function newFactId(at = Date.now()): { id: string; at: number } {
  return { id: v7({ msecs: at }), at };
}

/** The time of a fact, by its id. */
export function timeOfId(id: string): Date {
  return new Date(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16));
}
