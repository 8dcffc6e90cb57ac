import type { Actor } from "@tidings/rpc/actor";
import { Code, Fault, toFault, unauthenticated } from "@tidings/rpc/fault";
import type { Bearers } from "./bearer.ts";
import type { Attempt, Credentials } from "./credentials.ts";
import type { SentCredential } from "./sent-credential.ts";

export interface AuthenticationOptions {
  credentials: Credentials;
  bearers: Bearers;
  isBasicEnabled: boolean;
}

const BASIC = 'Basic realm="Tidings API", charset="UTF-8"';
const BEARER = 'Bearer realm="Tidings API"';
const TOKEN_FAULTS = new Set(["TOKEN_INVALID", "TOKEN_EXPIRED"]);

/** The challenges of WWW-Authenticate with a 401 (RFC 9110, 11.6.1), with the error of a token (RFC 6750, 3). */
export function challengesOf({ isBasicEnabled }: AuthenticationOptions, error: unknown): string[] {
  const { reason, message } = toFault(error);
  const bearer = TOKEN_FAULTS.has(reason)
    ? `${BEARER}, error="invalid_token", error_description="${message}"`
    : BEARER;
  return isBasicEnabled ? [BASIC, bearer] : [bearer];
}

/** The actor of these credentials as of a moment ago, if there was one. */
export function recognise(
  { scheme, value }: SentCredential,
  { credentials, bearers, isBasicEnabled }: AuthenticationOptions,
): Actor | undefined {
  if (scheme === "bearer") return bearers.recall(value);
  return scheme === "basic" && isBasicEnabled ? credentials.recallBasic(value) : undefined;
}

/** The actor of a request. Every attempt with credentials that were never good is counted. */
export async function authenticate(
  { scheme, value }: SentCredential,
  attempt: Attempt,
  { credentials, bearers, isBasicEnabled }: AuthenticationOptions,
): Promise<Actor> {
  if (scheme === "bearer") return bearers.verify(value, attempt);
  if (scheme === "basic" && isBasicEnabled) return credentials.verifyBasic(value, attempt);
  await attempt.count();
  if (scheme === "basic") throw basicDisabled();
  throw unauthenticated("CREDENTIALS_MISSING", "API authorization denied.");
}

function basicDisabled(): Fault {
  const message =
    "Basic Auth disabled. You need to enable HTTP basic auth in the API settings of Tidings's Configuration.";
  return new Fault({ code: Code.PERMISSION_DENIED, reason: "BASIC_AUTH_DISABLED", message });
}
