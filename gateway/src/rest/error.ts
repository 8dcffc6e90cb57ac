import type { ServerResponse } from "node:http";
import { Code, Fault, toFault } from "@tidings/rpc/fault";
import type { Log } from "@tidings/runtime/log";
import { inSpanOf } from "./span-of.ts";

interface Answer {
  status: number;
  /** Printed as `type` in the body. */
  type?: string;
}

const BY_CODE: Partial<Record<Code, Answer>> = {
  [Code.INVALID_ARGUMENT]: { status: 400 },
  [Code.UNAUTHENTICATED]: { status: 401, type: "access_denied" },
  [Code.PERMISSION_DENIED]: { status: 403 },
  [Code.NOT_FOUND]: { status: 404 },
  [Code.ABORTED]: { status: 409 },
  [Code.FAILED_PRECONDITION]: { status: 409 },
  [Code.ALREADY_EXISTS]: { status: 422 },
  [Code.RESOURCE_EXHAUSTED]: { status: 503 },
  [Code.UNAVAILABLE]: { status: 503 },
  [Code.DEADLINE_EXCEEDED]: { status: 504 },
};

/** Reasons that answer otherwise than their code. */
const BY_REASON: Partial<Record<string, Answer>> = {
  API_DISABLED: { status: 403, type: "api_disabled" },
  BASIC_AUTH_DISABLED: { status: 403, type: "access_denied" },
  TOKEN_INVALID: { status: 401, type: "invalid_grant" },
  TOKEN_EXPIRED: { status: 401, type: "invalid_grant" },
  CREDENTIALS_AMBIGUOUS: { status: 400, type: "invalid_request" },
  BODY_TOO_LARGE: { status: 413 },
  BODY_TOO_SLOW: { status: 408 },
  UPLOAD_REFUSED: { status: 406 },
  EXPECTATION_FAILED: { status: 417 },
  METHOD_NOT_ALLOWED: { status: 405 },
  PRECONDITION_FAILED: { status: 412 },
  IN_USE: { status: 422 },
  IDEMPOTENCY_KEY_REUSED: { status: 422 },
  VALIDATION: { status: 422, type: "validation" },
  ROLE_HAS_USERS: { status: 428 },
  RATE_LIMITED: { status: 429 },
  // Only reads get this: a write is refused before its commit when its answer would be too long.
  ANSWER_TOO_LONG: { status: 400 },
  // Our own signature was refused by our own service: the caller can do nothing about it.
  ACTOR_INVALID: { status: 500 },
  ACTOR_EXPIRED: { status: 503 },
};

const INTERNAL: Answer = { status: 500 };
const INTERNAL_MESSAGE =
  "Something went wrong on our side (error 500). Please tell the administrator if it happens again.";

export interface ErrorEntry {
  code: number;
  message: string;
  /** Messages by field; a list where they are of no field; the way to what is wrong where an entry is about one member. */
  details: Record<string, string[]> | string[] | string;
  type?: string;
}

/** A fault in the form of the API. Nothing that was not written for a caller leaves the house. */
export function errorEntry(fault: Fault): ErrorEntry {
  const { status, type } = BY_REASON[fault.reason] ?? BY_CODE[fault.code] ?? INTERNAL;
  const message = status === 500 ? INTERNAL_MESSAGE : fault.message;
  return { code: status, message, details: detailsOf(fault), ...(type && { type }) };
}

/** Most faults are one entry; members that contradict each other have one each. */
function entriesOf(fault: Fault, entry: ErrorEntry): ErrorEntry[] {
  if (fault.reason !== "VALIDATION") return [entry];
  return fault.violations.map(({ field, message }) => ({ ...entry, message, details: field }));
}

function detailsOf(fault: Fault): ErrorEntry["details"] {
  if (fault.violations.every(({ field }) => field === ""))
    return fault.violations.map(({ message }) => message);
  return Object.fromEntries(fault.violations.map(({ field, message }) => [field, [message]]));
}

export interface ErrorOptions {
  log: Log;
  /** WWW-Authenticate of a 401. */
  challenge: string | string[];
  /** Writes the rest of the answer; JSON with the entry under `errors` when absent. */
  write?: (entry: ErrorEntry) => void;
}

/** Answers with an error. The connection closes where the rest of the request was not read. */
export function sendError(response: ServerResponse, error: unknown, options: ErrorOptions): void {
  // The HTTP server answered already: the body is not framed as HTTP has it.
  if (response.writableEnded) return;
  const { log, challenge } = options;
  const fault = toFault(error);
  const entry = errorEntry(fault);
  if (entry.code === 500)
    inSpanOf(response, () =>
      log.error(
        { err: fault.cause ?? fault, request_id: response.getHeader("x-request-id") },
        "request failed",
      ),
    );
  if (response.headersSent) {
    // Half an answer must not look like a whole one.
    response.destroy();
    return;
  }
  if (entry.code === 401) response.setHeader("www-authenticate", challenge);
  if (fault.retryAfterSeconds !== undefined)
    response.setHeader("retry-after", Math.ceil(fault.retryAfterSeconds));
  if (fault.reason === "BAD_FRAMING" || hasUnreadBody(response)) response.setHeader("connection", "close");
  response.statusCode = entry.code;
  if (options.write) options.write(entry);
  else writeJson(response, { errors: entriesOf(fault, entry) });
}

export function writeJson(response: ServerResponse, body: object): void {
  response.setHeader("Content-Type", "application/json");
  response.end(JSON.stringify(body));
}

function hasUnreadBody({ req: { headers, complete } }: ServerResponse): boolean {
  const isAnnounced =
    headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
  return isAnnounced && !complete;
}

/** `instead` is the call that was probably meant. */
export function methodNotAllowed(instead?: string): Fault {
  const message = `The method is not supported on this path.${instead ? ` Use ${instead}.` : ""}`;
  return new Fault({ code: Code.UNIMPLEMENTED, reason: "METHOD_NOT_ALLOWED", message });
}
