import { badRequest } from "@tidings/rpc/fault";
import type { Query } from "./query.ts";

const IDS_MAX = 1_000;
const ID_MAX = 2 ** 31 - 1;

/** `fields[]=1&fields[]=2`, or nothing; a number that can be nobody's id names nothing. Throws INVALID_ARGUMENT for what is no number. */
export function idsInQuery(query: Query, name: string): number[] {
  const { [name]: sent } = query;
  const texts = typeof sent === "object" && sent !== null ? Object.values(sent) : sent ? [sent] : [];
  if (texts.length > IDS_MAX) throw badRequest(`At most ${IDS_MAX} ids are supported.`);
  if (!texts.every((text) => typeof text === "string" && /^\d{1,15}$/.test(text)))
    throw badRequest(`${name} must be a list of ids.`);
  return texts.map(Number).filter((id) => id > 0 && id <= ID_MAX);
}
