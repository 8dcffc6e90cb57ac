import type { Database, Transaction } from "@tidings/store/database";
import type { OAuthClient } from "./client.ts";
import type { TokenLifetimes } from "./lifetimes.ts";
import { OAuthError } from "./oauth-error.ts";

/** A request for tokens by a client that has proved who it is. */
export interface TokenRequest {
  client: OAuthClient;
  clientIp: string;
  deadlineMs: number;
  /** A text parameter of the request; empty counts as absent. */
  parameter(name: string): string | undefined;
}

export interface TokenServices {
  database: Database;
  lifetimes: TokenLifetimes;
}

/**
 * One transaction for one exchange. A refusal is returned by the work and thrown only here: what it has revoked or
 * burnt must be committed.
 */
export async function exchangeInTransaction<T>(
  database: Database,
  deadlineMs: number,
  work: (transaction: Transaction) => Promise<T | OAuthError>,
): Promise<T> {
  const outcome = await database.transaction(deadlineMs, work);
  if (outcome instanceof OAuthError) throw outcome;
  return outcome;
}
