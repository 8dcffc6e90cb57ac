import { type Redis, rateLimiter } from "../limits/rate-limit.ts";
import type { TokenRates } from "./token-endpoint.ts";

const WINDOW_SECONDS = 60;
const BY_CLIENT = 10;
const BY_ADDRESS = 30;

/** How often tokens may be asked for in a minute, by one client and from one address. */
export function tokenRates(redis: Redis | undefined): TokenRates {
  const limit = (name: string, points: number) =>
    rateLimiter({ name, points, windowSeconds: WINDOW_SECONDS, redis });
  return { client: limit("token-client", BY_CLIENT), address: limit("token-address", BY_ADDRESS) };
}
