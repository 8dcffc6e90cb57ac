import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { root } from "../tool.ts";

/** The files of an image that were packed together. */
export interface Layer {
  /** Packed with gzip. */
  bytes: Buffer;
  /** The size of the files alone. */
  size: number;
  diffId: string;
}

/** The part of an OCI image that describes how it is run. */
export interface ImageConfig {
  Entrypoint: string[];
  Env: string[];
  User: string;
  WorkingDir: string;
  Labels: Record<string, string>;
  /** The signal that ends it; SIGTERM when absent. */
  StopSignal?: string;
}

export interface Image {
  /** With its tag: `tidings-gateway:0.1.0`. One without a registry is known as one of Docker's. */
  name: string;
  config: ImageConfig;
  layers: Layer[];
}

interface Descriptor {
  mediaType: string;
  digest: string;
  size: number;
}

const TYPES = "application/vnd.oci.image";
const CACHE = join(root, ".cache/layers");
const TAR_BYTES_MAX = 1024 * 1024 * 1024;
/** The same files make the same bytes, at any time, for any user and rights. */
const REPEATABLE = ["--format=gnu", "--sort=name", "--mtime=@0", "--numeric-owner", "--mode=a=rX,u+w"];

/** Packs what is in a folder, as root's. */
export async function packLayer(folder: string): Promise<Layer> {
  return layerOf(await tar(folder));
}

/** Packs one folder, given from the root of the image, which belongs to a user: a volume in its place does then, too. */
export async function packOwnFolder(path: string, userId: number): Promise<Layer> {
  const folder = await mkdtemp(join(tmpdir(), "tidings-folder-"));
  try {
    await mkdir(join(folder, path), { recursive: true });
    return layerOf(await tar(folder, { ownerId: userId, path }));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function layerOf(files: Buffer): Promise<Layer> {
  const diffId = digestOf(files);
  return { bytes: await zipped(files, diffId), size: files.length, diffId };
}

/** Writes an OCI archive, which containerd, Docker (25 and later), Podman and skopeo read. Answers the digest of the image. */
export async function writeArchive({ name, config, layers }: Image, archive: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "tidings-image-"));
  const keep = async (type: string, content: Buffer | object): Promise<Descriptor> => {
    const bytes = Buffer.isBuffer(content) ? content : Buffer.from(JSON.stringify(content));
    const digest = digestOf(bytes);
    await writeFile(join(folder, "blobs", digest.replace(":", "/")), bytes);
    return { mediaType: `${TYPES}.${type}`, digest, size: bytes.length };
  };
  try {
    await mkdir(join(folder, "blobs/sha256"), { recursive: true });
    const manifest = await keep("manifest.v1+json", {
      schemaVersion: 2,
      mediaType: `${TYPES}.manifest.v1+json`,
      config: await keep("config.v1+json", {
        created: new Date(0).toISOString(),
        architecture: process.arch === "x64" ? "amd64" : process.arch,
        os: "linux",
        config,
        rootfs: { type: "layers", diff_ids: layers.map(({ diffId }) => diffId) },
      }),
      layers: await Promise.all(layers.map(({ bytes }) => keep("layer.v1.tar+gzip", bytes))),
    });
    const annotations = {
      "io.containerd.image.name": name.includes("/") ? name : `docker.io/library/${name}`,
      "org.opencontainers.image.ref.name": name.split(":")[1],
    };
    await writeFile(
      join(folder, "index.json"),
      JSON.stringify({ schemaVersion: 2, manifests: [{ ...manifest, annotations }] }),
    );
    await writeFile(join(folder, "oci-layout"), '{"imageLayoutVersion":"1.0.0"}');
    await writeFile(archive, await tar(folder));
    return manifest.digest;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function tar(folder: string, { ownerId = 0, path = "." } = {}): Promise<Buffer> {
  const options = { encoding: "buffer", maxBuffer: TAR_BYTES_MAX } as const;
  const owner = [`--owner=${ownerId}`, `--group=${ownerId}`];
  const { stdout } = await promisify(execFile)(
    "tar",
    [...REPEATABLE, ...owner, "-C", folder, "-c", path],
    options,
  );
  return stdout;
}

/** Node alone takes seconds to pack: what was packed before is kept by what it is. */
async function zipped(files: Buffer, diffId: string): Promise<Buffer> {
  const kept = join(CACHE, `${diffId}.gz`);
  if (existsSync(kept)) return readFile(kept);
  const bytes = await promisify(gzip)(files);
  await mkdir(CACHE, { recursive: true });
  const unfinished = `${kept}.${process.pid}`;
  await writeFile(unfinished, bytes);
  await rename(unfinished, kept);
  return bytes;
}

function digestOf(bytes: Buffer): string {
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}
