import { isNothing, notValid } from "@tidings/resource/json-member";
import { propertiesOf, resolveProperties } from "@tidings/resource/properties";
import type { TypeNeeds } from "@tidings/resource/typed-needs";
import { notOneOf, type Violation } from "@tidings/rpc/fault";

/** A type of point action or trigger event. */
export interface Kind extends TypeNeeds {
  label: string;
  /** Without which it means nothing. */
  required?: string[];
  /** Known, yet named to nobody who asks for types. */
  isUnlisted?: boolean;
}

/** An item with a type and properties. */
interface Typed {
  type: string;
  properties?: Uint8Array | undefined;
}

/**
 * Brings the properties into the form in which they are kept, in place, and answers what is wrong with them or the type.
 * An unchanged item is not judged again. `prefix` is its path: `events[0].`.
 */
export function resolveTyped(
  typed: Typed,
  kinds: ReadonlyMap<string, Kind>,
  before: Typed | undefined,
  prefix = "",
): Violation[] {
  // The message's own rules require a type.
  if (typed.type === "" || (before && isSame(before, typed))) return [];
  const kind = kinds.get(typed.type);
  if (!kind) return [notValid(`${prefix}type`, notOneOf(kinds.keys()))];
  const path = `${prefix}properties`;
  const violations = resolveProperties(typed, kind.properties, path);
  const resolved = propertiesOf(typed);
  const told = new Set(violations.map(({ field }) => field));
  const missing = (kind.required ?? []).filter(
    (name) => isNothing(resolved[name] ?? null) && !told.has(`${path}.${name}`),
  );
  return [...violations, ...missing.map((name) => notValid(`${path}.${name}`, "A value is required."))];
}

/** The types that the API lists. */
export function listedTypes(kinds: ReadonlyMap<string, Kind>) {
  const listed = [...kinds].filter(([, { isUnlisted }]) => !isUnlisted);
  return { types: listed.map(([name, { label }]) => ({ name, label })) };
}

function isSame(before: Typed, { type, properties = new Uint8Array() }: Typed): boolean {
  return before.type === type && Buffer.compare(before.properties ?? new Uint8Array(), properties) === 0;
}
