import { parseArgs } from "node:util";
import { type PackedImage, packProduct, VERSION } from "./product-images.ts";
import { packTrial } from "./trial-images.ts";

const { values } = parseArgs({
  options: {
    out: { type: "string", default: "dist/images" },
    tag: { type: "string", default: VERSION },
    /** Postgres, NATS and Redis as well. */
    trial: { type: "boolean", default: false },
  },
});

for (const image of await packProduct(values)) console.log(row(image));
if (values.trial) for (const image of await packTrial(values)) console.log(row(image));

function row({ name, digest, packed, unpacked, path }: PackedImage): string {
  const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(1).padStart(6)} MB`;
  return `${name.padEnd(28)} ${megabytes(packed)}, unpacked ${megabytes(unpacked)}  ${digest.slice(0, 19)}  ${path}`;
}
