import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import packageJson from "../../package.json" with { type: "json" };
import { bundleOf, bundlePrograms, programs } from "../bundle.ts";
import { MEMORY } from "../memory.ts";
import { writeAppFolder } from "./app-folder.ts";
import { type ImageConfig, type Layer, packLayer, packOwnFolder, writeArchive } from "./archive.ts";
import { USER_ID, writeNodeFolder, writeSystemFolder } from "./system-folder.ts";

export const VERSION = packageJson.version;

export interface PackedImage {
  /** With its tag. */
  name: string;
  /** The OCI archive. */
  path: string;
  digest: string;
  /** Bytes that are sent and kept by registries, and bytes once they are unpacked. */
  packed: number;
  unpacked: number;
}

export interface PackOptions {
  /** Folder of the archives, made when it is not there. */
  out: string;
  /** The version of the product when absent. */
  tag?: string;
}

/** Where a volume goes, for those that keep files. */
const DATA = "var/lib/tidings";

/** How each process is run. */
export const CONFIG = {
  Entrypoint: ["/usr/local/bin/node", ...MEMORY.execArgv, "/app/main.js"],
  Env: [
    "PATH=/usr/local/bin:/usr/bin:/bin",
    "NODE_ENV=production",
    `MALLOC_ARENA_MAX=${MEMORY.env.MALLOC_ARENA_MAX}`,
  ],
  User: `${USER_ID}:${USER_ID}`,
  WorkingDir: "/app",
};

/** Packs an image of each program, with what it is made of beside it: `tidings-gateway.tar`, `tidings-gateway.cdx.json`. */
export async function packProduct({ out, tag = VERSION }: PackOptions): Promise<PackedImage[]> {
  const work = await mkdtemp(join(tmpdir(), "tidings-images-"));
  try {
    await mkdir(out, { recursive: true });
    const bundles = join(work, "bundles");
    const metafile = await bundlePrograms(bundles);
    const system = await writeSystemFolder(join(work, "system"));
    const node = await writeNodeFolder(join(work, "node"));
    const platform = [...system, ...node];
    const base = [
      await packLayer(join(work, "system")),
      await packLayer(join(work, "node")),
      await packOwnFolder(DATA, USER_ID),
    ];
    const packed: PackedImage[] = [];
    for (const program of programs) {
      const name = `tidings-${program.name}`;
      const folder = join(work, program.name);
      const bundle = bundleOf(program.entry, bundles);
      const app = { program, bundle, metafile, version: VERSION, platform };
      const bill = await writeAppFolder(app, join(folder, "app"));
      await writeFile(join(out, `${name}.cdx.json`), bill);
      const layers = [...base, await packLayer(folder)];
      packed.push(await packImage({ name: `${name}:${tag}`, layers, config: CONFIG }, out));
    }
    return packed;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

export interface ImageParts {
  /** With its tag. */
  name: string;
  layers: Layer[];
  config: Omit<ImageConfig, "Labels">;
}

/** Writes `<name>.tar` in the folder `out`. */
export async function packImage({ name, layers, config }: ImageParts, out: string): Promise<PackedImage> {
  const [title = "", version = ""] = name.split(":");
  const path = join(out, `${title}.tar`);
  const label = "org.opencontainers.image";
  const Labels = {
    [`${label}.title`]: title,
    [`${label}.version`]: version,
    [`${label}.licenses`]: "Apache-2.0",
  };
  const digest = await writeArchive({ name, layers, config: { ...config, Labels } }, path);
  const sum = (sizeOf: (layer: Layer) => number) => layers.reduce((total, layer) => total + sizeOf(layer), 0);
  return { name, path, digest, packed: sum(({ bytes }) => bytes.length), unpacked: sum(({ size }) => size) };
}
