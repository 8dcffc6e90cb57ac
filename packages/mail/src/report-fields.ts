/** Fields by their names in lower case, the first of each name. */
export type FieldGroup = ReadonlyMap<string, string>;

const OCTETS_MAX = 128 * 1_024;
const GROUPS_MAX = 200;
const FIELDS_MAX = 200;
const VALUE_LENGTH_MAX = 4_000;

/** Groups of header fields with blank lines between them (RFC 3464, 2.1), unfolded, without comments on their form. */
export function readFieldGroups(octets: Buffer): FieldGroup[] {
  const groups: Map<string, string>[] = [];
  let fields: Map<string, string> | undefined;
  let last: string | undefined;
  for (const line of octets.subarray(0, OCTETS_MAX).toString().split(/\r?\n/)) {
    if (line.trim() === "") {
      fields = undefined;
      last = undefined;
      continue;
    }
    if (/^[ \t]/.test(line)) {
      const value = last === undefined ? undefined : fields?.get(last);
      if (last !== undefined && value !== undefined && value.length < VALUE_LENGTH_MAX)
        fields?.set(last, `${value} ${line.trim()}`.slice(0, VALUE_LENGTH_MAX));
      continue;
    }
    const at = line.indexOf(":");
    last = at > 0 ? line.slice(0, at).trim().toLowerCase() : undefined;
    if (last === undefined) continue;
    if (!fields) {
      if (groups.length === GROUPS_MAX) return groups;
      fields = new Map();
      groups.push(fields);
    }
    // The fields that follow a second one of a name continue that one.
    if (fields.has(last) || fields.size === FIELDS_MAX) last = undefined;
    else
      fields.set(
        last,
        line
          .slice(at + 1)
          .trim()
          .slice(0, VALUE_LENGTH_MAX),
      );
  }
  return groups;
}
