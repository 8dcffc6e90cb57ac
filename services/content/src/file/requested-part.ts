import type { IncomingMessage } from "node:http";
import type { ByteRange } from "./store.ts";

/** The part of a file that answers a request, by the HTTP status of the answer. */
export type RequestedPart =
  | { status: 200; range?: undefined }
  | { status: 206; range: ByteRange }
  | { status: 304 }
  | { status: 416 };

const WHOLE: RequestedPart = { status: 200 };

/** The name of some bytes, as a request has it in `If-None-Match` and `If-Range`, and how many they are. */
export interface Representation {
  /** A strong one, in quotes. */
  etag: string;
  size: number;
}

/** The part of a file that a request is for: conditions before ranges (RFC 9110, 13.2.2 and 14.2). */
export function requestedPart(
  { method, headers }: Pick<IncomingMessage, "method" | "headers">,
  { etag, size }: Representation,
): RequestedPart {
  if (isNamed(headers["if-none-match"], etag)) return { status: 304 };
  const condition = headers["if-range"];
  const isMeant = method === "GET" && (condition === undefined || condition === etag);
  return headers.range !== undefined && isMeant ? rangedPart(headers.range, size) : WHOLE;
}

/** Does the list have this tag? Weak ones are compared likewise (RFC 9110, 13.1.2). */
function isNamed(list = "", etag: string): boolean {
  return list.split(",").some((item) => {
    const tag = item.trim();
    return tag === "*" || tag === etag || tag === `W/${etag}`;
  });
}

const BYTES = /^bytes=[ \t]*(\d*)-(\d*)[ \t]*$/i;

/** Several ranges, and a header that is none, are answered with the whole file (RFC 9110, 14.2). */
function rangedPart(header: string, size: number): RequestedPart {
  const [, first = "", last = ""] = BYTES.exec(header) ?? [];
  if (first === "") return last === "" ? WHOLE : lastBytes(Number(last), size);
  const [start, end] = [Number(first), last === "" ? size - 1 : Math.min(Number(last), size - 1)];
  if (last !== "" && Number(last) < start) return WHOLE;
  return start < size ? { status: 206, range: { start, end } } : { status: 416 };
}

function lastBytes(count: number, size: number): RequestedPart {
  if (count === 0) return { status: 416 };
  return size === 0 ? WHOLE : { status: 206, range: { start: Math.max(0, size - count), end: size - 1 } };
}
