import type { Html } from "@tidings/runtime/html";
import type { TemplateValues } from "./compile-template.ts";

const NAMES =
  "assetlink dwc dynamiccontent form formfield langbar ownerfield pagelink pagetitle subject unsubscribe_url";

/** Names that tests let templates use. */
export const names: ReadonlySet<string> = new Set(NAMES.split(" "));

/** Values for tests: contact fields, and other tokens by `name` or `name=argument`. */
export function valuesOf(
  contactFields: Record<string, string>,
  others: Record<string, string | Html> = {},
): TemplateValues {
  const found = new Map(Object.entries(others));
  return {
    contactFields: new Map(Object.entries(contactFields)),
    valueOf: ({ name, argument }) => found.get(argument === undefined ? name : `${name}=${argument}`),
    dates: { now: Date.UTC(2026, 10, 24, 23, 5, 9), timeZone: "Europe/Vienna", locale: "en_US" },
    lengthMax: 10_000_000,
  };
}
