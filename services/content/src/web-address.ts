import type { Violation } from "@tidings/rpc/fault";
import { notValid } from "@tidings/store/json-member";

const LENGTH_MAX = 2_048;

/** An absolute address on the web. */
export function isWebAddress(text: string): boolean {
  if (text.length > LENGTH_MAX || !URL.canParse(text)) return false;
  const { protocol } = new URL(text);
  return protocol === "http:" || protocol === "https:";
}

export function checkWebAddress(field: string, text: string | undefined): Violation[] {
  return text && !isWebAddress(text) ? [notValid(field, "A valid URL is required.")] : [];
}
