import type { Need, NeededRight } from "./needs.ts";
import { type PropertyReaders, thingsNamedIn } from "./properties.ts";

/** The declaration of a type of action or event. */
export interface TypeNeeds {
  properties: PropertyReaders;
  /** The right that a writer needs to use the type. */
  right?: Omit<NeededRight, "field">;
}

/** The needs of an item by its type. An item without a type may be of any type. `prefix` is its path: `events[0].`. */
export function needsOfTyped(
  { type, properties }: { type: string; properties?: Uint8Array | undefined },
  types: ReadonlyMap<string, TypeNeeds>,
  prefix = "",
): Need[] {
  const known = types.get(type);
  const possible = type === "" ? [...types.values()] : known ? [known] : [];
  return possible.flatMap(({ properties: readers, right }): Need[] => [
    ...thingsNamedIn(properties, readers, `${prefix}properties`),
    ...(right ? [{ field: `${prefix}type`, ...right }] : []),
  ]);
}
