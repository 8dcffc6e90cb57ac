/** `s:5:"first";` or `i:12;`, at the end of what was read. */
const NUMBER = /^i:(-?\d{1,15});/;
const STRING = /^s:(\d{1,6}):"/;
const HEAD = /^a:(\d{1,4}):\{/;

/**
 * Reads a flat map of texts in the serialisation of PHP: `a:1:{s:3:"key";s:5:"value";}`. Lengths are in bytes. It ends at the first part that
 * is anything else: objects and maps in maps are not read.
 */
export function serialisedMap(text: string): [string, string][] {
  const [head = "", count = "0"] = HEAD.exec(text) ?? [];
  if (head === "") return [];
  const bytes = Buffer.from(text);
  let at = head.length;
  const read = (): string | undefined => {
    const rest = bytes.subarray(at, at + 32).toString("latin1");
    const [number, digits] = NUMBER.exec(rest) ?? [];
    if (number && digits) {
      at += number.length;
      return digits;
    }
    const [start, length] = STRING.exec(rest) ?? [];
    if (!start) return undefined;
    const end = at + start.length + Number(length);
    if (bytes.subarray(end, end + 2).toString("latin1") !== '";') return undefined;
    const value = bytes.subarray(at + start.length, end).toString();
    at = end + 2;
    return value;
  };
  const entries: [string, string][] = [];
  for (let index = 0; index < Number(count); index += 1) {
    const [name, value] = [read(), read()];
    if (name === undefined || value === undefined) break;
    entries.push([name, value]);
  }
  return entries;
}
