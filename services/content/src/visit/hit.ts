import { randomFillSync } from "node:crypto";
import { v7 } from "uuid";
import type { PageFact } from "./visit-row.ts";

/** A page that was seen, or a link that was followed. */
export interface Hit extends PageFact {
  /** A landing page, and the page that it is a variant of. */
  pageId?: number | undefined;
  variantParentId?: number | undefined;
  /** The landing page as it is shown; its category as JSON. */
  page?: { title: string; alias: string; category: string } | undefined;
  /** A tracked link. */
  redirectId?: number | undefined;
  urlTitle: string;
  /** Values by aliases of fields that the page sent of its visitor, and tags. */
  values: Record<string, string>;
  tags: string;
  /** `pixel`: an image sent them; else a script, or the address of the page. */
  saidBy?: "pixel" | undefined;
  /** When its visitor left, in milliseconds since 1970, where that is known before the hit is recorded. */
  leftAt?: number;
}

/** An id for something that happened at this time, in milliseconds since 1970, and that time. */
export function newFactId(at: number): { id: string; at: number } {
  return { id: v7({ msecs: at, random: nextRandom() }), at };
}

const RANDOM_BYTES = 16;
const pool = Buffer.alloc(256 * RANDOM_BYTES);
let used = pool.length;

/** Random bytes are asked for many ids at a time: each time takes longer than making the id. */
function nextRandom(): Uint8Array {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += RANDOM_BYTES;
  return pool.subarray(used - RANDOM_BYTES, used);
}

/** The time of a fact, by its id. */
export function timeOfId(id: string): Date {
  return new Date(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16));
}
