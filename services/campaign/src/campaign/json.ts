/** The entries of a list, which may come as an object of them, or alone. */
export function entriesOf(value: unknown): unknown[] {
  if (value === undefined || value === null || value === "") return [];
  return typeof value === "object" && value !== null ? Object.values(value) : [value];
}

const ID_MAX = 2 ** 31 - 1;

/** An id, as a number or in digits. */
export function readId(value: unknown): number | undefined {
  const text = typeof value === "number" || typeof value === "string" ? String(value).trim() : "";
  const id = text.length <= 10 && /^[1-9]\d*$/.test(text) ? Number(text) : 0;
  return id > 0 && id <= ID_MAX ? id : undefined;
}

/** The name of an event as somebody wrote it: its id, or what it was called before it had one. */
export function readName(value: unknown): string | undefined {
  if (typeof value !== "number" && typeof value !== "string") return undefined;
  const text = String(value).trim();
  return text === "" || text.length > 191 ? undefined : text;
}
