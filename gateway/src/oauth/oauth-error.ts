import type { ServerResponse } from "node:http";
import { Code, Fault } from "@tidings/rpc/fault";
import type { Log } from "@tidings/runtime/log";
import { type ErrorEntry, sendError, writeJson } from "../rest/error.ts";

/** Error codes of RFC 6749 (4.1.2.1, 5.2), and one of our own for a redirect URI that is another one. */
export type OAuthErrorType =
  | "invalid_request"
  | "invalid_client"
  | "invalid_grant"
  | "invalid_scope"
  | "unauthorized_client"
  | "unsupported_response_type"
  | "access_denied"
  | "redirect_uri_mismatch";

/** A refusal that OAuth has a word for. */
export class OAuthError extends Fault {
  readonly type: OAuthErrorType;

  constructor(type: OAuthErrorType, description: string, code = Code.INVALID_ARGUMENT) {
    super({ code, reason: "OAUTH_REFUSED", message: description });
    this.type = type;
  }
}

/** The challenge for a client that failed by Basic. */
const CHALLENGE = 'Basic realm="Tidings OAuth"';

/** Answers in the words of OAuth (RFC 6749, 5.2) and in those of the API at once. */
export function sendOAuthError(response: ServerResponse, error: unknown, log: Log): void {
  const type = error instanceof OAuthError ? error.type : undefined;
  const write = (entry: ErrorEntry) =>
    writeJson(response, {
      errors: [{ ...entry, ...(type && { type }) }],
      error: type ?? typeOfStatus(entry.code),
      error_description: entry.message,
    });
  if (!response.headersSent) response.setHeader("pragma", "no-cache");
  sendError(response, error, { log, challenge: CHALLENGE, write });
}

function typeOfStatus(status: number): string {
  if (status === 403) return "access_denied";
  if (status === 429 || status === 503) return "temporarily_unavailable";
  return status >= 500 ? "server_error" : "invalid_request";
}
