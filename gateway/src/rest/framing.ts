import type { IncomingMessage } from "node:http";
import { Code, Fault } from "@tidings/rpc/fault";

/**
 * Refuses requests that two HTTP implementations could read in two ways, before anything else looks at them: transfer
 * codings other than chunked, more than one Host (RFC 9112, 3.2), absolute-form targets, and paths with dot segments
 * (RFC 3986, 5.2.4), encoded slashes, NULs or broken percent-encoding.
 */
export function checkFraming(request: IncomingMessage): void {
  const { headers, rawHeaders, url = "" } = request;
  checkExpectation(headers.expect);
  if (countOfHosts(rawHeaders) > 1) throw badFraming("The request names more than one host.");
  const coding = headers["transfer-encoding"];
  if (coding !== undefined && coding !== "chunked")
    throw badFraming("The transfer encoding is not supported.");
  if (coding !== undefined && headers["content-length"] !== undefined)
    throw badFraming("The length of the body is ambiguous.");
  if (!url.startsWith("/") || url.startsWith("//")) throw badFraming("The request target must be a path.");
  const end = url.indexOf("?");
  const path = end < 0 ? url : url.slice(0, end);
  if ((path.includes("%") || path.includes("/.")) && !isPlainPath(path))
    throw badFraming("The path is not valid.");
}

/** Names and values follow each other, as they came. */
function countOfHosts(rawHeaders: string[]): number {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2)
    if (rawHeaders[index]?.length === 4 && rawHeaders[index]?.toLowerCase() === "host") count += 1;
  return count;
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
    return !DOT_SEGMENT.test(decodeURIComponent(path));
  } catch {
    return false; // decodeURIComponent has no other way of saying so
  }
}

/** `.` or `..` between slashes: a client or proxy would resolve it, the router would not. */
const DOT_SEGMENT = /\/\.{1,2}(?:\/|$)/;

/** Nothing that follows on this connection can be trusted. */
function badFraming(message: string): Fault {
  return new Fault({ code: Code.INVALID_ARGUMENT, reason: "BAD_FRAMING", message });
}
