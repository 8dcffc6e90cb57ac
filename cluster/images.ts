import { cp, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { packLayer, writeArchive } from "@tidings/scripts/images/archive";
import { packProduct } from "@tidings/scripts/images/product-images";
import { packTrial } from "@tidings/scripts/images/trial-images";
import { nodePackages } from "./cluster.ts";

/** The tags under which the node has the product. */
export const TAGS = { present: "1", other: "2" };
const CACHE = join(import.meta.dirname, "../.cache/cluster");

/** Archives of the images of the product, as it is in this checkout, and of the stores that stand in for those of the chart. */
export async function imagesOfProduct(): Promise<string[]> {
  const options = { out: join(CACHE, "images"), tag: TAGS.present };
  const packed = [...(await packProduct(options)), ...(await packTrial(options))];
  return packed.map(({ path }) => path);
}

/** An archive of what holds the namespaces of a pod, which no registry is asked for. */
export async function pauseImage(): Promise<string> {
  await mkdir(CACHE, { recursive: true });
  const archive = join(CACHE, "pause.tar");
  const folder = await mkdtemp(join(tmpdir(), "tidings-image-"));
  try {
    await cp(join(await nodePackages(), "usr/bin/catatonit"), join(folder, "pause"));
    const config = { Entrypoint: ["/pause", "-P"], Env: [], User: "", WorkingDir: "/", Labels: {} };
    await writeArchive({ name: "localhost/pause:1", config, layers: [await packLayer(folder)] }, archive);
    return archive;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
