import { type Timestamp, timestampDate } from "@bufbuild/protobuf/wkt";
import type { Actor } from "@tidings/rpc/actor";
import type { Outgoing } from "@tidings/rpc/client";
import type { Expected } from "@tidings/rpc/expected";
import { badRequest } from "@tidings/rpc/fault";
import type { IdempotencyKey } from "@tidings/rpc/idempotency";
import type { Response } from "express";
import { entityTag, isNamed } from "./entity-tag.ts";
import type { Query } from "./query.ts";

/** The state of a request between its steps, beyond the request itself. */
export interface Exchange {
  requestId: string;
  actor: Actor;
  /** How long it took to find out who asks: a part of the time that the request may take. */
  identifiedInMs: number;
  query: Query;
  /** The body of a POST, if it is a form: read early, since it may hold the token. */
  form: unknown;
  body: unknown;
  /** Template of the path, once it is matched: what is measured and logged. */
  route: string | undefined;
  /** The key under which a write may come again. */
  idempotencyKey?: IdempotencyKey;
  /** Is the answer that of an earlier request with the key? */
  isReplayed?: boolean;
  /** The versions that a write expects of entities. */
  expected?: Expected | undefined;
  /** The version of the entity that is answered. */
  version?: number;
  /** The position behind the page that is answered, where more rows follow. */
  next?: string;
}

export type ApiResponse = Response<unknown, { exchange: Exchange }>;

/** How long a request may take, in milliseconds, by what it does. */
export const BUDGET_MS = { read: 5_000, write: 10_000, batch: 30_000 };

export function outgoing(exchange: Exchange, budgetMs: number): Outgoing {
  const { actor, requestId, identifiedInMs, idempotencyKey, expected } = exchange;
  return {
    actor,
    requestId,
    deadlineMs: Date.now() + budgetMs - identifiedInMs,
    idempotencyKey,
    expected,
    onAnswer({ version, next, isReplayed }) {
      if (next !== "") exchange.next = next;
      if (version > 0) exchange.version = version;
      if (isReplayed) exchange.isReplayed = true;
    },
  };
}

/** Answers JSON. To a GET it has a tag: a caller who has these bytes gets 304 without them. */
export function sendJson(response: ApiResponse, status: number, json: string): void {
  if (status === 200 && isRead(response) && isKnown(response, entityTag(json))) return;
  send(response, status, json);
}

/** The same of one entity; an answer to a write has its tag too. */
export function sendEntity(response: ApiResponse, status: number, json: string): void {
  const { version = 0 } = response.locals.exchange;
  const tag = entityTag(json, version);
  if (isRead(response) && isKnown(response, tag)) return;
  if (version > 0) response.setHeader("etag", tag);
  send(response, status, json);
}

/** JSON that is answered again and again: its tag is made once. */
export interface Tagged {
  json: string;
  tag: string;
}

export function tagged(json: string): Tagged {
  return { json, tag: entityTag(json) };
}

/** Answers a read. */
export function sendTagged(response: ApiResponse, { json, tag }: Tagged): void {
  if (!isKnown(response, tag)) send(response, 200, json);
}

/** `Last-Modified` (RFC 9110, 8.8.2), where the entity knows that. */
export function showModified(response: ApiResponse, item: object): void {
  const { dateModified, dateAdded } = item as { dateModified?: Timestamp; dateAdded?: Timestamp };
  const at = dateModified ?? dateAdded;
  if (at) response.setHeader("last-modified", timestampDate(at).toUTCString());
}

function isRead({ req }: ApiResponse): boolean {
  return req.method === "GET" || req.method === "HEAD";
}

function isKnown(response: ApiResponse, tag: string): boolean {
  const isSame = isNamed(response.req, tag);
  response.setHeader("etag", tag);
  if (!isSame) return false;
  response.statusCode = 304;
  response.end();
  return true;
}

function send(response: ApiResponse, status: number, json: string): void {
  if (response.locals.exchange?.isReplayed) response.setHeader("idempotency-replayed", "true");
  response.statusCode = status;
  response.setHeader("Content-Type", "application/json");
  response.end(json);
}

/** A body that must be an object. An empty list counts as one: some clients write an empty set of parameters so. */
export function bodyObject({ body }: Exchange): Record<string, unknown> {
  if (Array.isArray(body) && body.length === 0) return {};
  if (typeof body !== "object" || body === null || Array.isArray(body))
    throw badRequest("The body must be an object.");
  return body as Record<string, unknown>;
}
