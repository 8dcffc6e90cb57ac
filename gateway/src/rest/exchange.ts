import type { Actor } from "@tidings/rpc/actor";
import type { Outgoing } from "@tidings/rpc/client";
import { badRequest } from "@tidings/rpc/fault";
import type { OutgoingIdempotencyKey } from "@tidings/rpc/idempotency";
import type { Response } from "express";
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
  idempotencyKey?: OutgoingIdempotencyKey;
}

export type ApiResponse = Response<unknown, { exchange: Exchange }>;

/** How long a request may take, in milliseconds, by what it does. */
export const BUDGET_MS = { read: 5_000, write: 10_000, batch: 30_000 };

export function outgoing(exchange: Exchange, budgetMs: number): Outgoing {
  const { actor, requestId, identifiedInMs, idempotencyKey } = exchange;
  return { actor, requestId, deadlineMs: Date.now() + budgetMs - identifiedInMs, idempotencyKey };
}

export function sendJson(response: ApiResponse, status: number, json: string): void {
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
