import type { Verdict } from "./machine.ts";
import type { Sighting } from "./sighting.ts";

/** A fact about a visit to the public web: a hit, a download, a report of a player. */
export interface VisitFact extends Omit<Sighting, "deviceId" | "hitId" | "isNewDevice">, Verdict {
  /** A UUIDv7 (RFC 9562, 5.7) of the time of the fact. */
  id: string;
  /** The browser, where it may be known. */
  device: { id: string; isNew: boolean } | undefined;
  emailId?: number | undefined;
  /** The send whose mail led here. */
  sendHash?: string | undefined;
  /** The channel that led here, and its id. */
  source: string;
  sourceId?: number | undefined;
  /** The visit was counted before its visitor was known; only its being the first one is not. */
  isCounted?: true;
  /** The HTTP status of the answer. */
  code: number;
}
