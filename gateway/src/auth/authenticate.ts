import type { Actor } from "@tidings/rpc/actor";
import { Code, Fault, unauthenticated } from "@tidings/rpc/fault";
import type { Attempt, Credentials } from "./credentials.ts";

export interface AuthenticationOptions {
  credentials: Credentials;
  isBasicEnabled: boolean;
}

/** The scheme that WWW-Authenticate offers with a 401 (RFC 9110, 11.6.1). */
export function challengeOf({ isBasicEnabled }: AuthenticationOptions): string {
  return isBasicEnabled ? 'Basic realm="Tidings API", charset="UTF-8"' : 'Bearer realm="Tidings API"';
}

/** Who these credentials were a moment ago, if they were anybody. */
export function recognise(header: string | undefined, options: AuthenticationOptions): Actor | undefined {
  const { scheme, value } = schemeOf(header);
  return scheme === "basic" && options.isBasicEnabled ? options.credentials.recallBasic(value) : undefined;
}

/** Who a request is made for, from its Authorization header. Every attempt is counted, whatever it sends. */
export async function authenticate(
  header: string | undefined,
  attempt: Attempt,
  options: AuthenticationOptions,
): Promise<Actor> {
  const { scheme, value } = schemeOf(header);
  if (scheme === "basic" && options.isBasicEnabled) return options.credentials.verifyBasic(value, attempt);
  await attempt.count();
  if (scheme === "basic") throw basicDisabled();
  if (scheme === "bearer") throw unauthenticated("TOKEN_INVALID", "The access token provided is invalid.");
  throw unauthenticated("CREDENTIALS_MISSING", "API authorization denied.");
}

function schemeOf(header = ""): { scheme: string; value: string } {
  const [scheme = "", value = ""] = header.split(" ", 2);
  return { scheme: scheme.toLowerCase(), value };
}

function basicDisabled(): Fault {
  const message =
    "Basic Auth disabled. You need to enable HTTP basic auth in the API settings of Tidings's Configuration.";
  return new Fault({ code: Code.PERMISSION_DENIED, reason: "BASIC_AUTH_DISABLED", message });
}
