import { notFound } from "@tidings/rpc/fault";

export const ID_MAX = 2 ** 31 - 1;

/** The id in a text of a path; undefined when no row can have it. */
export function pathId(text: unknown): number | undefined {
  const id = typeof text === "string" && /^[1-9]\d{0,9}$/.test(text) ? Number(text) : 0;
  return id >= 1 && id <= ID_MAX ? id : undefined;
}

/** The id in an item of a body or in a query, where it may have zeros in front and spaces around it; undefined for any other value. */
export function itemId(value: unknown): number | undefined {
  if (typeof value !== "number" && typeof value !== "string") return undefined;
  const text = String(value).trim();
  const id = Number(text);
  return /^\d{1,10}$/.test(text) && id >= 1 && id <= ID_MAX ? id : undefined;
}

/** The id in a text of a path. Throws NOT_FOUND when no row can have it. */
export function requiredId(text: unknown, missing?: string): number {
  const id = pathId(text);
  if (id === undefined) throw notFound(missing);
  return id;
}
