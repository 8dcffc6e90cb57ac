import { badRequest, type Fault } from "@tidings/rpc/fault";
import type { Exchange } from "../rest/exchange.ts";
import type { Query } from "../rest/query.ts";

/** The items of a batch body: a list, or an object with a member for each. */
export function batchItems(body: unknown, itemsMax: number): unknown[] {
  if (typeof body !== "object" || body === null) throw badRequest("The body must be a list.");
  const items = Object.values(body);
  if (items.length > itemsMax) throw tooMany(itemsMax);
  return items;
}

/** `ids=1,2` or `ids[]=1&ids[]=2` in the query or the body, a list as the body, or parameters whose names are numbers. */
export function idsOf({ query, body }: Pick<Exchange, "query" | "body">, itemsMax: number): number[] {
  const members = (body ?? {}) as Query;
  const sent = Array.isArray(body)
    ? body
    : (query.ids ?? members.ids ?? [...numbered(query), ...numbered(members)]);
  const ids = typeof sent === "object" && sent !== null ? Object.values(sent) : String(sent).split(",");
  if (ids.length === 0 || sent === "")
    throw badRequest(
      "ids must say what is to be deleted: ids=1,2 in the query, or a list of ids as the body.",
    );
  if (ids.length > itemsMax) throw tooMany(itemsMax);
  return ids.map((sent) => {
    const value = typeof sent === "object" && sent !== null ? (sent as { id?: unknown }).id : sent;
    const id = itemId(typeof value === "string" ? value.trim() : value);
    if (id === undefined) throw badRequest("ids must be a list of ids.");
    return id;
  });
}

/** The values of `0=1&1=2`. What else stands in a query is no id. */
function numbered(members: Query): unknown[] {
  return Object.entries(members).flatMap(([name, value]) => (/^\d+$/.test(name) ? [value] : []));
}

/** An id as it stands in a body or a query; undefined for any other value. */
export function itemId(value: unknown): number | undefined {
  if (typeof value !== "number" && typeof value !== "string") return undefined;
  const id = Number(value);
  return /^\d{1,10}$/.test(String(value)) && id >= 1 && id < 2 ** 31 ? id : undefined;
}

function tooMany(itemsMax: number): Fault {
  return badRequest(`A max of ${itemsMax} entities are supported at a time.`);
}
