import { isNothing, isObject } from "@tidings/resource/json-member";
import { type PropertyReader, text } from "@tidings/resource/properties";

/** One choice of a list. */
export interface Option {
  label: string;
  value: string;
}

const OPTIONS_MAX = 1_000;

/**
 * `{list: [{label, value}]}`, which may also come as the list alone, as a list of texts that are label and value in one, or as
 * an object of labels by value.
 */
export const options: PropertyReader = (value) => {
  const list = isObject(value) && "list" in value ? value.list : value;
  if (isNothing(list)) return { list: [] };
  if (!isObject(list) && !Array.isArray(list)) return undefined;
  const entries = Object.entries(list);
  if (entries.length > OPTIONS_MAX) return undefined;
  const read = entries.map(([key, entry]) => optionOf(entry, Array.isArray(list) ? undefined : key));
  return read.includes(undefined) ? undefined : { list: read };
};

function optionOf(entry: unknown, key: string | undefined): Option | undefined {
  if (!isObject(entry)) {
    const label = text(entry) as string | undefined;
    // An object with numbers for keys is how forms of HTML send a list.
    const value = key === undefined || /^\d+$/.test(key) ? label : (text(key) as string);
    return label === undefined || value === undefined ? undefined : { label, value };
  }
  const value = text(entry.value ?? entry.label) as string | undefined;
  const label = text(entry.label ?? entry.value) as string | undefined;
  return label === undefined || value === undefined ? undefined : { label, value };
}
