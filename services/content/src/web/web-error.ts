import { TemplateError } from "@tidings/rendering/template-error";
import { Code, toFault } from "@tidings/rpc/fault";
import { isOutage } from "@tidings/rpc/outage";
import { publicPathOf } from "@tidings/rpc/public-paths";
import { publicRefusal } from "@tidings/rpc/public-refusals";
import { REQUEST_ID_HEADER } from "@tidings/rpc/transfer";
import type { Log } from "@tidings/runtime/log";
import { plainPage } from "@tidings/runtime/plain-page";
import type { Request, Response } from "express";

/** The rest of a refused body that is not longer is read and dropped. */
const READ_AWAY_MAX = 256 * 1024 * 1024;

/** An error as visitors get it: a plain page, or JSON where a script asked. Nothing of its cause leaves the house. */
export function sendWebError(request: Request, response: Response, error: unknown, log: Log): void {
  const status = statusOf(error);
  if (error instanceof TemplateError)
    log.warn({ err: error, path: request.path }, "a page is too large to be shown");
  const { title, text } = publicRefusal(status);
  if (status === 500)
    log.error({ err: error, request_id: request.get(REQUEST_ID_HEADER) }, "a request of a visitor failed");
  // Half an answer must not look like a whole one.
  if (response.headersSent) return void response.destroy();
  if (status === 503) response.setHeader("retry-after", Math.ceil(toFault(error).retryAfterSeconds ?? 1));
  // A sender whose connection closes while it sends would never read the answer.
  if (!request.complete && lengthOf(request) > READ_AWAY_MAX) response.setHeader("connection", "close");
  response.status(status);
  if (publicPathOf(request.path)?.isShared) response.json({ success: 0, errorMessage: text });
  else response.type("text/html").send(plainPage(title, text));
}

/** Bytes of the body; infinitely many where its sender does not say. */
function lengthOf({ headers }: Request): number {
  return Number(headers["content-length"] ?? Number.POSITIVE_INFINITY);
}

function statusOf(error: unknown): number {
  if (isOutage(error)) return 503;
  // It grew by what stands in it; to visitors it is not there.
  if (error instanceof TemplateError) return 404;
  const { code, reason } = toFault(error);
  if (reason === "BODY_TOO_LARGE") return 413;
  return code === Code.INVALID_ARGUMENT ? 400 : 500;
}
