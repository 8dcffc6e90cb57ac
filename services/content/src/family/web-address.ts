import { notValid } from "@tidings/resource/json-member";
import type { Violation } from "@tidings/rpc/fault";

const LENGTH_MAX = 2_048;

/** Browsers and programs leave these out of an address, or end it there. */
const CONTROLS_AND_SPACES = /[\p{Cc}\s]/u;

/** An absolute address on the web, which names nobody who signs in there. */
export function isWebAddress(text: string): boolean {
  if (text.length > LENGTH_MAX || CONTROLS_AND_SPACES.test(text) || !URL.canParse(text)) return false;
  const { protocol, username, password } = new URL(text);
  return (protocol === "http:" || protocol === "https:") && username === "" && password === "";
}

export function checkWebAddress(field: string, text: string | undefined): Violation[] {
  return text && !isWebAddress(text) ? [notValid(field, "A valid URL is required.")] : [];
}
