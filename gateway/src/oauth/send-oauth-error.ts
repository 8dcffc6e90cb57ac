import type { ServerResponse } from "node:http";
import type { Log } from "@tidings/runtime/log";
import { type ErrorEntry, sendError, writeJson } from "../rest/error.ts";
import { OAuthError } from "./oauth-error.ts";

/** Of a client that failed by Basic. */
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
