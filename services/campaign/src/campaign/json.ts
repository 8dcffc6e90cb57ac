export type JsonObject = Record<string, unknown>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** What a member that is kept as JSON says; nothing is an empty list, as in the language of older clients. */
export function readJson(bytes: Uint8Array | undefined): unknown {
  return bytes && bytes.length > 0 ? JSON.parse(Buffer.from(bytes).toString()) : [];
}

export function writeJson(value: unknown): Uint8Array {
  return Buffer.from(JSON.stringify(value));
}

/** The entries of a list, which may come as an object of them, or alone. */
export function entriesOf(value: unknown): unknown[] {
  if (isNothing(value)) return [];
  return typeof value === "object" && value !== null ? Object.values(value) : [value];
}

export function isNothing(value: unknown): boolean {
  return value === undefined || value === null || value === "";
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
