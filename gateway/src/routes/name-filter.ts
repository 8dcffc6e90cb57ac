import { badRequest } from "@tidings/rpc/fault";
import { type ListLimits, readListParameters } from "../rest/list-query.ts";
import type { Query } from "../rest/query.ts";

const LENGTH_MAX = 191;

/** `filter`, `limit` and `start` of a list of names. */
export function readNameFilter({ filter = "", limit, start }: Query, limits: ListLimits) {
  if (typeof filter !== "string" || filter.length > LENGTH_MAX) throw badRequest("filter is not valid.");
  const { query } = readListParameters({ limit, start }, limits);
  return { filter, limit: query.pageSize, start: query.skip };
}
