import { type ChildProcess, execFile, spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

/** An image taken out of its archive. */
export interface UnpackedImage {
  /** Folders of its layers, the topmost first. */
  layers: string[];
  entrypoint: string[];
  env: Record<string, string>;
  user: string;
  stopSignal: NodeJS.Signals;
}

const run = promisify(execFile);

/** Why images cannot be run on this machine; undefined when they can. */
export function whyNoImages(): string | undefined {
  if (process.platform !== "linux") return "images are of Linux";
  if (process.getuid?.() !== 0) return "only root can mount an image";
  return spawnSync("unshare", ["--mount", "true"]).status === 0
    ? undefined
    : "unshare --mount is not allowed here";
}

/** Takes an image out of an OCI archive. Layers that several have are unpacked once, below `folder`. */
export async function unpackImage(archive: string, folder: string): Promise<UnpackedImage> {
  const layout = await mkdtemp(join(folder, "layout-"));
  await run("tar", ["-xf", archive, "-C", layout]);
  const read = async (path: string) => JSON.parse(await readFile(join(layout, path), "utf8"));
  const blob = ({ digest }: { digest: string }) => join("blobs", digest.replace(":", "/"));
  const index = await read("index.json");
  const manifest = await read(blob(index.manifests[0]));
  const { config } = await read(blob(manifest.config));
  const layers: string[] = [];
  for (const layer of manifest.layers) {
    const target = join(folder, layer.digest.slice("sha256:".length, "sha256:".length + 12));
    if (!existsSync(target)) {
      await mkdir(target);
      await run("tar", ["-xzf", join(layout, blob(layer)), "-C", target]);
    }
    layers.unshift(target);
  }
  const env = Object.fromEntries(config.Env.map((variable: string) => variable.split(/=(.*)/s, 2)));
  const { Entrypoint: entrypoint, User: user, StopSignal: stopSignal = "SIGTERM" } = config;
  return { layers, entrypoint, env, user, stopSignal };
}

/** As containers do: the layers over each other and read-only, nothing to write to but `/tmp`, no root. */
const IN_CONTAINER = `
mount -t overlay overlay -o "lowerdir=$1" "$2" && mount -t tmpfs tmpfs "$2/tmp" &&
mount --rbind /proc "$2/proc" && mount --rbind /dev "$2/dev" || exit 70
root="$2" user="$3"; shift 3
exec /usr/sbin/chroot --userspec="$user" --groups= "$root" "$@"`;

/** Starts a process of an image with this environment besides its own. It is the image's first process, and the child itself. */
export async function runImage(
  image: UnpackedImage,
  folder: string,
  env: Record<string, string>,
  args: string[],
): Promise<ChildProcess> {
  const root = await mkdtemp(join(folder, "root-"));
  const mountPoints = await mkdtemp(join(folder, "mounts-"));
  for (const name of ["proc", "dev"]) await mkdir(join(mountPoints, name));
  const lower = [...image.layers, mountPoints].join(":");
  const inside = ["sh", "-c", IN_CONTAINER, "sh", lower, root, image.user, ...image.entrypoint, ...args];
  return spawn("unshare", ["--mount", ...inside], {
    env: { ...image.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
}
