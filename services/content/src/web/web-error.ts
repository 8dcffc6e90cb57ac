import { Code, toFault } from "@tidings/rpc/fault";
import { isOutage } from "@tidings/rpc/outage";
import { publicPathOf } from "@tidings/rpc/public-paths";
import { REQUEST_ID_HEADER } from "@tidings/rpc/transfer";
import type { Log } from "@tidings/runtime/log";
import { plainPage } from "@tidings/runtime/plain-page";
import type { Request, Response } from "express";

const AWAY = { status: 503, title: "Not available at the moment", text: "Please try again in a moment." };
const BROKEN = {
  status: 500,
  title: "Something went wrong",
  text: "It was written down. Please try again later.",
};
const UNREADABLE = {
  status: 400,
  title: "This request could not be read",
  text: "Please open the page again.",
};
const TOO_LARGE = {
  status: 413,
  title: "Too much at once",
  text: "The form holds more than can be taken. Send less.",
};

/** An error as visitors get it: a plain page, or JSON where a script asked. Nothing of its cause leaves the house. */
export function sendWebError(request: Request, response: Response, error: unknown, log: Log): void {
  const { status, title, text } = shownOf(error);
  if (status === 500)
    log.error({ err: error, request_id: request.get(REQUEST_ID_HEADER) }, "a request of a visitor failed");
  // Half an answer must not look like a whole one.
  if (response.headersSent) return void response.destroy();
  if (status === 503) response.setHeader("retry-after", "1");
  if (!request.complete) response.setHeader("connection", "close");
  response.status(status);
  if (publicPathOf(request.path)?.isShared) response.json({ success: 0, errorMessage: text });
  else response.type("text/html").send(plainPage(title, text));
}

function shownOf(error: unknown) {
  if (isOutage(error)) return AWAY;
  const { code, reason } = toFault(error);
  if (reason === "BODY_TOO_LARGE") return TOO_LARGE;
  return code === Code.INVALID_ARGUMENT ? UNREADABLE : BROKEN;
}
