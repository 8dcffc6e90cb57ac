/** For tests: a file in the MaxMind DB format (version 2.0) with one record for one IPv4 network of 24 bits. */
export function mmdbOf(network: [number, number, number], record: object): Buffer {
  const bits = network.flatMap((byte) => Array.from({ length: 8 }, (_, index) => (byte >> (7 - index)) & 1));
  const nodeCount = bits.length;
  const nodes = bits.map((bit, index) => {
    const isLast = index === nodeCount - 1;
    // Behind the tree are 16 bytes, and then the data.
    const next = isLast ? nodeCount + 16 : index + 1;
    const [left, right] = bit === 0 ? [next, nodeCount] : [nodeCount, next];
    const node = Buffer.alloc(6);
    node.writeUIntBE(left, 0, 3);
    node.writeUIntBE(right, 3, 3);
    return node;
  });
  const metadata = {
    binary_format_major_version: 2,
    binary_format_minor_version: 0,
    build_epoch: 1,
    database_type: "Test-City",
    description: { en: "of a test" },
    ip_version: 4,
    languages: ["en"],
    node_count: nodeCount,
    record_size: 24,
  };
  const marker = Buffer.from("\xab\xcd\xefMaxMind.com", "latin1");
  return Buffer.concat([...nodes, Buffer.alloc(16), encoded(record), marker, encoded(metadata)]);
}

const [STRING, UINT32, MAP, ARRAY] = [2, 6, 7, 11];

function encoded(value: unknown): Buffer {
  if (typeof value === "string")
    return Buffer.concat([control(STRING, Buffer.byteLength(value)), Buffer.from(value)]);
  if (typeof value === "number") {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE(value);
    return Buffer.concat([control(UINT32, 4), bytes]);
  }
  if (Array.isArray(value)) return Buffer.concat([control(ARRAY, value.length), ...value.map(encoded)]);
  const entries = Object.entries(value as object);
  return Buffer.concat([
    control(MAP, entries.length),
    ...entries.flatMap(([key, member]) => [encoded(key), encoded(member)]),
  ]);
}

/** The bytes before a value: its type and its size, which is below 285. */
function control(type: number, size: number): Buffer {
  const small = Math.min(size, 29);
  const first = type < 8 ? [(type << 5) | small] : [small, type - 7];
  return Buffer.from(size < 29 ? first : [...first, size - 29]);
}
