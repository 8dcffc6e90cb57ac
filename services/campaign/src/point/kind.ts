import type { Violation } from "@tidings/rpc/fault";
import type { PropertyReader } from "./property.ts";

/** What can be had of a type: of what contacts do, or of what triggers do. */
export interface Kind {
  label: string;
  properties: Record<string, PropertyReader>;
  /** Without which it means nothing. */
  required?: string[];
  /** Known, yet named to nobody who asks for types. */
  isUnlisted?: boolean;
}

/** What has a type and properties. */
interface Typed {
  type: string;
  properties?: Uint8Array | undefined;
}

const NOT_VALID = "This value is not valid.";

/**
 * Brings the properties into the form in which they are kept, in place, and answers what is wrong with them or the type.
 * What stays as it was is not judged again. `prefix` is the way to them: `events[0].`.
 */
export function settleProperties(
  typed: Typed,
  kinds: ReadonlyMap<string, Kind>,
  before: Typed | undefined,
  prefix = "",
): Violation[] {
  if (before && isSame(before, typed)) return [];
  const kind = kinds.get(typed.type);
  // That there has to be one is said of the message.
  if (typed.type === "") return [];
  if (!kind) return [{ field: `${prefix}type`, message: `${NOT_VALID} It is one of ${namesOf(kinds)}.` }];
  const sent = propertiesOf(typed.properties);
  if (!sent) return [{ field: `${prefix}properties`, message: NOT_VALID }];
  const violations: Violation[] = [];
  for (const [name, read] of Object.entries(kind.properties)) {
    const value = Object.hasOwn(sent, name) ? read(sent[name]) : null;
    const field = `${prefix}properties.${name}`;
    if (value === undefined) violations.push({ field, message: NOT_VALID });
    else if (value === null && kind.required?.includes(name))
      violations.push({ field, message: "A value is required." });
    else if (Object.hasOwn(sent, name)) sent[name] = value;
  }
  typed.properties = Buffer.from(JSON.stringify(Object.keys(sent).length === 0 ? [] : sent));
  return violations;
}

/** Those that callers are told of. */
export function listedTypes(kinds: ReadonlyMap<string, Kind>) {
  const listed = [...kinds].filter(([, { isUnlisted }]) => !isUnlisted);
  return { types: listed.map(([name, { label }]) => ({ name, label })) };
}

function isSame(before: Typed, { type, properties = new Uint8Array() }: Typed): boolean {
  return before.type === type && Buffer.compare(before.properties ?? new Uint8Array(), properties) === 0;
}

function namesOf(kinds: ReadonlyMap<string, Kind>): string {
  return [...kinds.keys()].join(", ");
}

/** An empty list, which older clients send for an object that is empty, is one. */
function propertiesOf(bytes: Uint8Array | undefined): Record<string, unknown> | undefined {
  const value: unknown = bytes && bytes.length > 0 ? JSON.parse(Buffer.from(bytes).toString()) : null;
  if (value === null || value === "" || (Array.isArray(value) && value.length === 0)) return {};
  return typeof value === "object" && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined;
}
