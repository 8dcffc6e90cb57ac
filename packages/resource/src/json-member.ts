import { NOT_VALID, type Violation } from "@tidings/rpc/fault";

/** The value of JSON that was checked when it came: any shape that a client may have sent. */
export function parseJson(bytes: Uint8Array) {
  return JSON.parse(Buffer.from(bytes).toString());
}

/** The value of a JSON text; undefined for a text that is none. */
export function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The value of a member that is kept as JSON; an empty object where nothing was said, however that was written. */
export function jsonOf(bytes: Uint8Array | undefined): unknown {
  return bytes && bytes.length > 0 ? parseJson(bytes) : [];
}

export function jsonBytes(value: unknown): Uint8Array {
  return Buffer.from(JSON.stringify(value));
}

export type JsonObject = Record<string, unknown>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The members of a JSON object; none of any other value. */
export function membersOf(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

/** An empty object, as older clients send it: PHP encodes it as a list. */
export function isNothing(value: unknown): boolean {
  return value === null || value === "" || (Array.isArray(value) && value.length === 0);
}

/** `[]` for what is empty, as callers know it. */
export function kept(value: JsonObject): Uint8Array {
  return jsonBytes(Object.keys(value).length === 0 ? [] : value);
}

export function notValid(field: string, message = NOT_VALID): Violation {
  return { field, message };
}
