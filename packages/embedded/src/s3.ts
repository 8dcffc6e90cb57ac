import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { onPort } from "./free-port.ts";
import { startServer } from "./server-process.ts";
import { onPath } from "./server-program.ts";

export interface S3 {
  url: string;
  region: string;
  accessKey: string;
  secretKey: string;
  bucket: string;
  stop(): Promise<void>;
}

const VERSION = "v1.8.0";
const PACKAGE = "github.com/versity/versitygw/cmd/versitygw";
const CACHE = join(import.meta.dirname, "../../../.cache/go");
const LOGIN = { accessKey: "tidings", secretKey: "tidings-secret" };
const BUCKET = "tidings";

/** A server that speaks S3 on 127.0.0.1, with one bucket, which is a folder in `dataDir`. */
export async function startS3({ dataDir }: { dataDir: string }): Promise<S3> {
  const command = await versitygw();
  const files = join(dataDir, "files");
  await mkdir(join(files, BUCKET), { recursive: true });
  return onPort(undefined, async (port) => {
    const { stop } = await startServer({
      name: "versitygw",
      command,
      args: [
        "--access",
        LOGIN.accessKey,
        "--secret",
        LOGIN.secretKey,
        "--port",
        `127.0.0.1:${port}`,
        "posix",
        files,
      ],
      dataDir,
      readyText: `http://127.0.0.1:${port}`,
    });
    return { url: `http://127.0.0.1:${port}`, region: "us-east-1", bucket: BUCKET, ...LOGIN, stop };
  });
}

/** The program of this machine, else built from its source, once. */
async function versitygw(): Promise<string> {
  const installed = onPath("versitygw");
  const built = join(CACHE, VERSION, "versitygw");
  if (installed) return installed;
  if (!existsSync(built)) await build(built);
  return built;
}

/** Works beside the final place: many processes may ask at once. */
async function build(target: string): Promise<void> {
  await mkdir(CACHE, { recursive: true });
  const folder = await mkdtemp(join(CACHE, "building-"));
  try {
    const env = { ...process.env, GOBIN: folder, GOTOOLCHAIN: "auto" };
    await promisify(execFile)("go", ["install", `${PACKAGE}@${VERSION}`], { env });
    await mkdir(join(target, ".."), { recursive: true });
    await rename(join(folder, "versitygw"), target);
  } catch (error) {
    throw new Error("versitygw is not installed and could not be built with go", { cause: error });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
