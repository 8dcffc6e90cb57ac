import { isObject } from "@tidings/resource/json-member";
import { DO_NOT_CONTACT } from "./do-not-contact.ts";

/**
 * Places of filters that `matches` skips, whoever the contact is: those on companies and on activities, which cannot be asked of a contact alone
 * (engines.md 6.7). `sent` is a list that `checkFilters` accepts.
 */
export function skippedFilters(sent: unknown): number[] {
  if (!Array.isArray(sent)) return [];
  return sent.flatMap((filter, index) => (isObject(filter) && isSkipped(filter) ? [index] : []));
}

function isSkipped({ object, field }: Record<string, unknown>): boolean {
  if (object === "company") return true;
  return (
    object === "behaviors" && !DO_NOT_CONTACT.has(String(field)) && field !== "leadlist" && field !== "tags"
  );
}
