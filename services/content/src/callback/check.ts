import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { jsonIn } from "@tidings/resource/json-member";

export interface CallbackRequest {
  headers: IncomingHttpHeaders;
  /** As its sender wrote it, on the host of PUBLIC_URL. */
  url: string;
  body: string;
  /** In milliseconds since 1970. */
  now: number;
  /** The text at an address; undefined where there is none. Throws while its server cannot be reached. */
  fetchText(url: string): Promise<string | undefined>;
}

/** Why a callback is refused: `signature` is a missing or forged one, `stale` an old one, `body` no JSON of the provider's form. */
export type RefusalOfCallback = "signature" | "stale" | "body";

/** The items of a callback that its provider sent; `nonce` may be used once. */
export type Checked = { refused: RefusalOfCallback } | { items: unknown[]; nonce?: string };

export type Check = (request: CallbackRequest) => Checked | Promise<Checked>;

/** Longer than any provider goes on sending a callback again. Each event counts once all the same. */
const STALE_MS = 25 * 3_600_000;
/** Clocks differ. */
const EARLY_MS = 10 * 60_000;
/** A shorter one could be guessed. */
export const SECRET_LENGTH_MIN = 16;

export const REFUSED: Checked = { refused: "signature" };
export const STALE: Checked = { refused: "stale" };
export const UNREADABLE: Checked = { refused: "body" };

/** Compares in constant time. */
export function isSame(one: string | Buffer, other: string | Buffer): boolean {
  const digest = (value: string | Buffer) => createHash("sha256").update(value).digest();
  return timingSafeEqual(digest(one), digest(other));
}

/** Is this time, in milliseconds, too long ago or yet to come? */
export function isStale(at: number, now: number): boolean {
  return !(at > now - STALE_MS && at < now + EARLY_MS);
}

/** A header that stands once; empty otherwise. */
export function headerOf({ headers }: CallbackRequest, name: string): string {
  const value = headers[name];
  return typeof value === "string" ? value : "";
}

/** The items of a body that is a list. */
export function listedItems(body: string): Checked {
  const items = jsonIn(body);
  return Array.isArray(items) ? { items } : UNREADABLE;
}

/** Basic authentication (RFC 7617) with `user:password`. */
export function isBasic(request: CallbackRequest, secret: string): boolean {
  const [, encoded = ""] = /^Basic ([A-Za-z0-9+/=]+)$/i.exec(headerOf(request, "authorization")) ?? [];
  return isSame(Buffer.from(encoded, "base64"), secret);
}

/** Says what is wrong with a `user:password`; undefined for a good one. */
export function problemOfBasic(secret: string): string | undefined {
  const [user = "", ...password] = secret.split(":");
  const isGood = user !== "" && password.join(":").length >= SECRET_LENGTH_MIN;
  return isGood ? undefined : `needs user:password with at least ${SECRET_LENGTH_MIN} characters of password`;
}
