import { parseJson } from "@tidings/resource/json-member";
import { NOT_VALID, type Violation } from "@tidings/rpc/fault";

/** Values that clients send for "nothing". */
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
  if (read === undefined) violations.push({ field, message: NOT_VALID });
  return read;
}

export function readId(input: unknown): number | undefined {
  const text = typeof input === "number" || typeof input === "string" ? String(input).trim() : "";
  return /^[1-9]\d{0,9}$/.test(text) && Number(text) < 2 ** 31 ? Number(text) : undefined;
}
