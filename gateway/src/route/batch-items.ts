import { badRequest, type Fault } from "@tidings/rpc/fault";
import type { Exchange } from "../rest/exchange.ts";
import { itemId } from "../rest/path-id.ts";
import type { Query } from "../rest/query.ts";

/** The items of a batch body: a list, or an object with a member for each. */
export function batchItems(body: unknown, itemsMax: number): unknown[] {
  if (typeof body !== "object" || body === null) throw badRequest("The body must be a list.");
  const items = Object.values(body);
  if (items.length > itemsMax) throw tooMany(itemsMax);
  return items;
}

/**
 * The items that a request names for deletion: `ids=1,2` or `ids[]=1&ids[]=2` in the query or the body, a list as the body, or parameters
 * whose names are numbers. Each is an id, or an object with one.
 */
export function deletedItems({ query, body }: Pick<Exchange, "query" | "body">, itemsMax: number): unknown[] {
  const members = (body ?? {}) as Query;
  const sent = Array.isArray(body)
    ? body
    : (query.ids ?? members.ids ?? [...numbered(query), ...numbered(members)]);
  const items = typeof sent === "object" && sent !== null ? Object.values(sent) : String(sent).split(",");
  if (items.length === 0 || sent === "")
    throw badRequest(
      "ids must say what is to be deleted: ids=1,2 in the query, or a list of ids as the body.",
    );
  if (items.length > itemsMax) throw tooMany(itemsMax);
  return items;
}

/** Throws INVALID_ARGUMENT for an item that is neither an id nor an object with one. */
export function deletedId(item: unknown): number {
  const id = itemId(typeof item === "object" && item !== null ? (item as { id?: unknown }).id : item);
  if (id === undefined) throw badRequest("ids must be a list of ids.");
  return id;
}

/** The values of `0=1&1=2`. What else stands in a query is no id. */
function numbered(members: Query): unknown[] {
  return Object.entries(members).flatMap(([name, value]) => (/^\d+$/.test(name) ? [value] : []));
}

function tooMany(itemsMax: number): Fault {
  return badRequest(`A max of ${itemsMax} entities are supported at a time.`);
}
