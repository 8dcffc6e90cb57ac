/** Types of elements by their numbers in `pg_type`. */
const TEXT = 25;
const BYTEA = 17;
const NULL = -1;

/**
 * A parameter of type `text[]` in Postgres' binary format (`array_send`: dimensions, whether there are nulls, type, length, lower bound, then
 * each element behind its length). The text format quotes and escapes every element, which costs more than the rest of a statement where
 * elements are long.
 */
export function textArray(texts: (string | null)[]): Buffer {
  return binaryArray(
    TEXT,
    texts.map((text) => (text === null ? null : Buffer.from(text))),
  );
}

/** A parameter of type `bytea[]`, likewise: the text format writes each byte as two digits. */
export function byteaArray(elements: Uint8Array[]): Buffer {
  return binaryArray(BYTEA, elements);
}

function binaryArray(type: number, elements: (Uint8Array | null)[]): Buffer {
  const size = elements.reduce((sum, element) => sum + 4 + (element?.length ?? 0), 20);
  const array = Buffer.allocUnsafe(size);
  array.writeInt32BE(1, 0);
  array.writeInt32BE(elements.includes(null) ? 1 : 0, 4);
  array.writeInt32BE(type, 8);
  array.writeInt32BE(elements.length, 12);
  array.writeInt32BE(1, 16);
  let offset = 20;
  for (const element of elements) {
    offset = array.writeInt32BE(element?.length ?? NULL, offset);
    if (!element) continue;
    array.set(element, offset);
    offset += element.length;
  }
  return array;
}
