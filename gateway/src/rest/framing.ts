import type { IncomingMessage } from "node:http";
import { Code, Fault } from "@tidings/rpc/fault";

/**
 * Refuses requests that two HTTP implementations could read in two ways, before anything else looks at them: transfer
 * codings other than chunked, absolute-form targets, and paths with encoded slashes, NULs or broken percent-encoding.
 */
export function checkFraming(request: IncomingMessage): void {
  const { headers, url = "" } = request;
  checkExpectation(headers.expect);
  const coding = headers["transfer-encoding"];
  if (coding !== undefined && coding !== "chunked")
    throw badFraming("The transfer encoding is not supported.");
  if (coding !== undefined && headers["content-length"] !== undefined)
    throw badFraming("The length of the body is ambiguous.");
  if (!url.startsWith("/") || url.startsWith("//")) throw badFraming("The request target must be a path.");
  const end = url.indexOf("?");
  const path = end < 0 ? url : url.slice(0, end);
  if (path.includes("%") && !isPlainPath(path)) throw badFraming("The path is not valid.");
}

/** An empty list expects nothing (RFC 9110, 10.1.1), and Node has answered the one expectation there is. */
function checkExpectation(expect: string | undefined): void {
  const wanted = (expect ?? "").split(",").filter((item) => !/^\s*(100-continue\s*)?$/i.test(item));
  if (wanted.length === 0) return;
  const message = "The expectation of the request cannot be met.";
  throw new Fault({ code: Code.FAILED_PRECONDITION, reason: "EXPECTATION_FAILED", message });
}

function isPlainPath(path: string): boolean {
  if (/%(00|2f|5c)/i.test(path)) return false;
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false; // decodeURIComponent has no other way of saying so
  }
}

/** Nothing that follows on this connection can be trusted. */
function badFraming(message: string): Fault {
  return new Fault({ code: Code.INVALID_ARGUMENT, reason: "BAD_FRAMING", message });
}
