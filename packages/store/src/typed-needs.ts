import type { Need, NeededRight } from "./needs.ts";
import { type PropertyReaders, thingsNamedIn } from "./properties.ts";

/** What a type of action or event says of itself. */
export interface TypeNeeds {
  properties: PropertyReaders;
  /** What it does, which its writer has to be allowed. */
  right?: Omit<NeededRight, "field">;
}

/** What an item needs because of its type. A change that leaves the type unsaid may be of any. `prefix` is the way to it: `events[0].`. */
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
