import type { ServerResponse } from "node:http";
import { badRequest } from "@tidings/rpc/fault";
import type { Query } from "./query.ts";

const HEADER = "tidings-ignored";
const NAMES_MAX = 20;
const NAME_LENGTH_MAX = 64;

/**
 * Names the members that a request sent in vain, in the header `Tidings-Ignored`: a comma list (RFC 9110, 5.6.1) of
 * percent-encoded names, at most 20. Other products ignore such members too, so it is no error.
 */
export function tellIgnored(response: ServerResponse, names: string[]): void {
  tell(
    response,
    names
      .slice(0, NAMES_MAX)
      .map((name) => encodeURIComponent(name.slice(0, NAME_LENGTH_MAX).toWellFormed())),
  );
}

function tell(response: ServerResponse, entries: string[]): void {
  if (entries.length > 0) response.setHeader(HEADER, entries.join(", "));
}

/** Parameters of a list as other APIs name them, and their names here. */
const PARAMETERS = new Map([
  ["page", "start"],
  ["offset", "start"],
  ["skip", "start"],
  ["per_page", "limit"],
  ["perPage", "limit"],
  ["page_size", "limit"],
  ["pageSize", "limit"],
  ["sort", "orderBy"],
  ["sort_by", "orderBy"],
  ["order_by", "orderBy"],
  ["q", "search"],
  ["query", "search"],
]);

/** The same for the parameters of a list, each with its name here: `page;use=start`. */
export function tellForeignParameters(response: ServerResponse, query: Query): void {
  const sent = [...PARAMETERS].filter(([name]) => Object.hasOwn(query, name));
  tell(
    response,
    sent.map(([name, known]) => `${name};use=${known}`),
  );
}

/** Members that are wrapped as answers are, `{"contact": {...}}`, would all be ignored. */
export function unwrapped(body: Record<string, unknown>, one: string): Record<string, unknown> {
  const [name, ...others] = Object.keys(body);
  const member = body[one];
  const isWrapped =
    name === one &&
    others.length === 0 &&
    typeof member === "object" &&
    member !== null &&
    !Array.isArray(member);
  if (isWrapped) throw badRequest(`The members belong into the body itself and not below "${one}".`);
  return body;
}
