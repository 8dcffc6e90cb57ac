import type { Actor } from "@tidings/rpc/actor";
import { Code, Fault, unauthenticated } from "@tidings/rpc/fault";
import type { Credentials } from "./credentials.ts";

export interface AuthenticationOptions {
  credentials: Credentials;
  isBasicEnabled: boolean;
}

/** Who a request is made for, from its Authorization header. */
export async function authenticate(
  header: string | undefined,
  clientIp: string,
  options: AuthenticationOptions,
): Promise<Actor> {
  if (!header) throw unauthenticated("CREDENTIALS_MISSING", "API authorization denied.");
  const [scheme = "", value = ""] = header.split(" ", 2);
  switch (scheme.toLowerCase()) {
    case "basic":
      if (!options.isBasicEnabled) throw basicDisabled();
      return options.credentials.verifyBasic(value, clientIp);
    case "bearer":
      throw unauthenticated("TOKEN_INVALID", "The access token provided is invalid.");
    default:
      throw unauthenticated("SCHEME_UNKNOWN", "API authorization denied.");
  }
}

function basicDisabled(): Fault {
  const message =
    "Basic Auth disabled. You need to enable HTTP basic auth in the API settings of Tidings's Configuration.";
  return new Fault({ code: Code.PERMISSION_DENIED, reason: "BASIC_AUTH_DISABLED", message });
}
