import { badRequest } from "@tidings/rpc/fault";
import type { Cursors } from "./cursor.ts";
import type { ApiResponse } from "./exchange.ts";
import { principalOf } from "./idempotency-key.ts";
import type { Query } from "./query.ts";

const CURSOR_LENGTH_MAX = 8_000;

/** A list whose pages are found by cursor. */
export interface CursorList {
  cursors: Cursors;
  /** All that a cursor belongs to besides caller and path. The size of the page and its members may change. */
  filters: unknown[];
}

/** The cursor that was sent, empty for the first page; undefined without one. */
export function sentCursor({ cursor }: Query): string | undefined {
  if (cursor === undefined) return undefined;
  if (typeof cursor !== "string" || cursor.length > CURSOR_LENGTH_MAX)
    throw badRequest("cursor is not valid.");
  return cursor;
}

/** The position that a cursor stands for; undefined for the first page. Throws INVALID_ARGUMENT for one of another list. */
export function positionOf(cursor: string, response: ApiResponse, list: CursorList): string | undefined {
  return cursor === "" ? undefined : list.cursors.open(cursor, boundOf(response, list));
}

/** Says in `Link` where the next page is (RFC 8288), which is behind this position. */
export function linkNext(position: string, response: ApiResponse, list: CursorList): void {
  const url = new URL(response.req.originalUrl, "http://localhost");
  url.searchParams.delete("access_token");
  url.searchParams.set("cursor", list.cursors.seal(position, boundOf(response, list)));
  response.appendHeader("link", `<${url.pathname}${url.search}>; rel="next"`);
}

function boundOf(response: ApiResponse, { filters }: CursorList): string {
  const { actor } = response.locals.exchange;
  const [path] = response.req.originalUrl.split("?", 1);
  return JSON.stringify([principalOf(actor), path, ...filters]);
}
