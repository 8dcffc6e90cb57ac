import { createHash } from "node:crypto";

/** Something that a script reported, under a key where it gave one. */
interface Keyed {
  key?: number | undefined;
}

/** A browser remembers the keys of so many facts: more than its script keeps to send again. */
const KEYS_KEPT = 32;
const KEY = /^[A-Za-z0-9-]{16,64}$/;
/** Bytes of a hash that are a whole number in JSON. */
const HASH_BYTES = 6;

/** The key that a script gave to what it reports, as a number to remember; undefined for a text that is no key. */
export function factKeyOf(text: string | undefined): number | undefined {
  if (text === undefined || !KEY.test(text)) return undefined;
  return createHash("sha256").update(text).digest().readUIntBE(0, HASH_BYTES);
}

/** SQL: the keys of a device, with these added at the end. */
export function withKeys(before: string, added: string): string {
  const all = `(${before} || ${added})`;
  return `${all}[greatest(1, cardinality${all} - ${KEYS_KEPT - 1}):]`;
}

/**
 * The reports of one device that were recorded before, or stand twice among these. `remembered` has the keys of the device after those of
 * the reports were added.
 */
export function repeatedAmong<R extends Keyed>(reports: R[], remembered: number[]): R[] {
  const added = keysOf(reports).length;
  const known = new Set(remembered.slice(0, Math.max(0, remembered.length - added)));
  return reports.filter(({ key }) => {
    if (key === undefined) return false;
    const isKnown = known.has(key);
    known.add(key);
    return isKnown;
  });
}

export function keysOf(reports: Keyed[]): number[] {
  return reports.flatMap(({ key }) => (key === undefined ? [] : [key]));
}
