import { createHash, type Hash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Actor } from "@tidings/rpc/actor";
import { badRequest } from "@tidings/rpc/fault";
import type { IdempotencyKey } from "@tidings/rpc/idempotency";
import type { RateLimiterAbstract } from "rate-limiter-flexible";
import { rateLimited, refusalOf } from "../limits/rate-limit.ts";
import type { ApiResponse } from "./exchange.ts";

/** The header as Node names it. */
const HEADER = "idempotency-key";
export const KEY_LENGTH_MAX = 255;
const KEY = new RegExp(`^[\\x20-\\x7e]{1,${KEY_LENGTH_MAX}}$`);

/** A digest for the body of a request that has a key; undefined without one. */
export function bodyDigest({ headers }: IncomingMessage): Hash | undefined {
  return headers[HEADER] === undefined ? undefined : createHash("sha256");
}

/** A request as far as its key depends on it. */
export interface KeyedRequest {
  request: IncomingMessage;
  response: ApiResponse;
  /** `POST /api/contacts/:id/dnc/:channel/add` */
  route: string;
  /** Has read the body. */
  digest: Hash;
}

/**
 * Reads the `Idempotency-Key` of a write (IETF draft httpapi-idempotency-key-header): a key belongs to the principal and the route that it
 * came to, and to one path, query and body. Throws INVALID_ARGUMENT for one that is malformed, and RATE_LIMITED above the
 * limit of keys that a principal may use.
 */
export async function readIdempotencyKey(
  { request, response, route, digest }: KeyedRequest,
  limiter: RateLimiterAbstract,
): Promise<IdempotencyKey> {
  const key = sentKey(request);
  const { actor, query } = response.locals.exchange;
  const principal = principalOf(actor);
  const refusal = await refusalOf(limiter, principal);
  if (refusal)
    throw rateLimited(
      refusal.msBeforeNext,
      `At most ${limiter.points} keys are taken in ${limiter.duration} s.`,
    );
  const [path] = (request.url ?? "").split("?", 1);
  return {
    secret: createHash("sha256")
      .update(JSON.stringify([principal, route, key]))
      .digest(),
    fingerprint: digest.update(JSON.stringify([path, query])).digest(),
  };
}

function sentKey({ headersDistinct }: IncomingMessage): string {
  const [key = "", ...others] = headersDistinct[HEADER] ?? [];
  if (others.length > 0) throw badRequest("There is more than one Idempotency-Key.");
  if (!KEY.test(key))
    throw badRequest(`An Idempotency-Key has 1 to ${KEY_LENGTH_MAX} printable characters of ASCII.`);
  return key;
}

/** Names change; ids do not. */
export function principalOf({ kind, id, clientId, name }: Actor): string {
  return `${kind}:${id ?? clientId ?? name}`;
}
