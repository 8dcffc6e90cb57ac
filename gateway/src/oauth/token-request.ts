import type { Database } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import type { OAuthClient } from "./client.ts";
import { OAuthError } from "./oauth-error.ts";

/** How long what is issued lives. A refresh token is renewed with each use, but no family outlives its cap. */
export interface TokenLifetimes {
  accessSeconds: number;
  refreshSeconds: number;
}

export const CODE_SECONDS = 45;
export const FAMILY_DAYS_MAX = 90;

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
