import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, cp, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import { unpackDebianPackages } from "@tidings/embedded/debian-package";
import { natsProgram } from "@tidings/embedded/nats-program";
import { postgresProgram } from "@tidings/embedded/postgres-program";
import { serverProgram } from "@tidings/embedded/server-program";
import { storeVersion } from "../store-images.ts";
import { packLayer } from "./archive.ts";
import { type PackedImage, type PackOptions, packImage, VERSION } from "./product-images.ts";
import { writeSystemFolder } from "./system-folder.ts";

interface Store {
  user: string;
  stopSignal: string;
  /** Writes its files and answers how it is started. */
  write(folder: string): Promise<string[]>;
}

const BIN = "usr/local/bin";
const LIBRARIES = "usr/local/lib";
const LIBRARY = /=> (\/\S+)/g;

const STORES: Record<string, Store> = {
  // SIGTERM would let it wait until its last client is gone.
  postgres: { user: "999:999", stopSignal: "SIGINT", write: writePostgres },
  nats: { user: "65532:65532", stopSignal: "SIGTERM", write: writeNats },
  redis: { user: "65532:65532", stopSignal: "SIGTERM", write: writeRedis },
};

/**
 * Packs Postgres, NATS and Redis where no registry has them: `tidings-trial-postgres.tar` and so on. They take the arguments and
 * variables of the official images that charts and compose files give them. For trying the product out, not for data.
 */
export async function packTrial({ out, tag = VERSION }: PackOptions): Promise<PackedImage[]> {
  const work = await mkdtemp(join(tmpdir(), "tidings-images-"));
  try {
    await mkdir(out, { recursive: true });
    await writeSystemFolder(join(work, "system"));
    await addUser(join(work, "system"), "postgres", 999);
    const system = await packLayer(join(work, "system"));
    const packed: PackedImage[] = [];
    for (const [name, { user, stopSignal, write }] of Object.entries(STORES)) {
      const folder = join(work, name);
      await mkdir(join(folder, BIN), { recursive: true });
      const config = {
        Entrypoint: await write(folder),
        Env: [`PATH=/${BIN}:/postgres/bin:/bin`, `LD_LIBRARY_PATH=/${LIBRARIES}`],
        User: user,
        WorkingDir: "/",
        StopSignal: stopSignal,
      };
      const layers = [system, await packLayer(folder)];
      packed.push(await packImage({ name: `tidings-trial-${name}:${tag}`, layers, config }, out));
    }
    return packed;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** The Postgres of the npm package that development uses, with a shell to start it. */
async function writePostgres(folder: string): Promise<string[]> {
  const { postgres } = await postgresProgram();
  await cp(dirname(dirname(postgres)), join(folder, "postgres"), { recursive: true, verbatimSymlinks: true });
  const debian = await unpackDebianPackages("image-busybox", ["busybox-static"], { reinstall: true });
  const busybox = ["bin/busybox", "usr/bin/busybox"].map((path) => join(debian, path)).find(existsSync);
  if (!busybox) throw new Error("The package busybox-static has no busybox");
  await mkdir(join(folder, "bin"));
  await cp(busybox, join(folder, "bin/busybox"));
  await symlink("busybox", join(folder, "bin/sh"));
  const start = `${BIN}/start-postgres`;
  await cp(join(import.meta.dirname, "start-postgres.sh"), join(folder, start));
  await writeFile(
    join(folder, `${BIN}/pg_isready`),
    "#!/bin/sh\nexec busybox nc -w 2 127.0.0.1 5432 < /dev/null\n",
  );
  for (const script of [start, `${BIN}/pg_isready`]) await chmod(join(folder, script), 0o755);
  return [`/${start}`];
}

async function writeNats(folder: string): Promise<string[]> {
  await cp(await natsProgram(storeVersion("nats")), join(folder, BIN, "nats-server"));
  return [`/${BIN}/nats-server`];
}

/** The Redis of this machine, with the libraries that it is linked with there. */
async function writeRedis(folder: string): Promise<string[]> {
  const { path, env } = await serverProgram("redis-server");
  await cp(path, join(folder, BIN, "redis-server"), { dereference: true });
  const { stdout } = await promisify(execFile)("ldd", [path], { env: { ...process.env, ...env } });
  await mkdir(join(folder, LIBRARIES), { recursive: true });
  for (const [, library = ""] of stdout.matchAll(LIBRARY))
    await cp(library, join(folder, LIBRARIES, basename(library)), { dereference: true });
  return [`/${BIN}/redis-server`];
}

async function addUser(folder: string, name: string, id: number): Promise<void> {
  await writeFile(join(folder, "etc/passwd"), `${name}:x:${id}:${id}:${name}:/:/sbin/nologin\n`, {
    flag: "a",
  });
}
