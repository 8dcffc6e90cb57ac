/** The entries of a list, which may come as an object of them, or alone. */
export function entriesOf(value: unknown): unknown[] {
  if (value === undefined || value === null || value === "") return [];
  return typeof value === "object" && value !== null ? Object.values(value) : [value];
}

/** The name of an event as somebody wrote it: its id, or what it was called before it had one. */
export function readName(value: unknown): string | undefined {
  if (typeof value !== "number" && typeof value !== "string") return undefined;
  const text = String(value).trim();
  return text === "" || text.length > 191 ? undefined : text;
}
