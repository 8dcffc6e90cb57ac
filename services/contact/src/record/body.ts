import type { Violation } from "@tidings/rpc/fault";
import type { Update } from "@tidings/store/repository";

// JSON the gateway wrote: any shape a client may have sent.
export function parseJson(bytes: Uint8Array) {
  return JSON.parse(Buffer.from(bytes).toString());
}

/** What clients send for nothing. */
const EMPTY = new Set<unknown>([null, "", 0, "0"]);

/** An id, an object that has one, or nothing (null); undefined when the body does not name it. */
export function readReference(
  field: string,
  json: Uint8Array | undefined,
  violations: Violation[],
): number | null | undefined {
  if (!json || json.length === 0) return undefined;
  const input = parseJson(json);
  if (EMPTY.has(input)) return null;
  const id = typeof input === "object" && !Array.isArray(input) ? input.id : input;
  const read = readId(id);
  if (read === undefined) violations.push({ field, message: "This value is not valid." });
  return read;
}

/**
 * An update of something that refers to something else: callers send it under one name, its id is kept in a column of
 * another. `read` fills in that column.
 */
export function referringUpdate<T>(
  { message, updateMask, ...rest }: Update<T>,
  [sent, column]: [string, string],
  read: (message: T) => T,
): Update<T> {
  const paths = updateMask?.paths.map((path) => (path === sent ? column : path));
  return {
    ...rest,
    message: message && read(message),
    updateMask: updateMask && paths ? { ...updateMask, paths } : undefined,
  };
}

export function readId(input: unknown): number | undefined {
  const text = typeof input === "number" || typeof input === "string" ? String(input).trim() : "";
  return /^[1-9]\d{0,9}$/.test(text) && Number(text) < 2 ** 31 ? Number(text) : undefined;
}
