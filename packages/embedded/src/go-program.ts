import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import { onPath } from "./server-program.ts";
import { userCache } from "./user-cache.ts";

export interface GoProgram {
  /** Import path of the command, as `go install` takes it: `github.com/nats-io/nats-server/v2`. */
  package: string;
  /** `v2.12.1`. */
  version: string;
  /** Only this very version will do, whatever this machine has installed. */
  exact?: boolean;
}

/**
 * The path of a program written in Go: the one of this machine, else this version of it, built from its source once for the
 * user, whatever checkout asks. Needs `go` then, which takes a minute or two. Many processes may ask at once.
 */
export async function goProgram(program: GoProgram): Promise<string> {
  const name = nameOf(program.package);
  const installed = program.exact ? undefined : onPath(name);
  if (installed) return installed;
  const target = join(userCache(), "go", program.package, program.version, name);
  if (!existsSync(target)) await build(program, target);
  return target;
}

async function build(program: GoProgram, target: string): Promise<void> {
  const args = ["install", "-trimpath", "-ldflags=-s -w", `${program.package}@${program.version}`];
  const what = `${nameOf(program.package)} ${program.version}`;
  await buildWithGo({ what, target, argsFor: () => args });
}

export interface GoBuild {
  /** For people. */
  what: string;
  /** Where the program is to be, under the name that go gives it. */
  target: string;
  /** The arguments for go, given the output folder. `install` takes the folder from the environment. */
  argsFor(folder: string): string[];
  cwd?: string;
}

/** Works beside the final place, so that a program is there as a whole or not at all. */
export async function buildWithGo({ what, target, argsFor, cwd }: GoBuild): Promise<void> {
  await mkdir(dirname(target), { recursive: true });
  const unfinished = await mkdtemp(join(dirname(target), "building-"));
  try {
    // Without C it runs wherever it is put, in an image with nothing else too.
    const env = { ...process.env, GOBIN: unfinished, GOTOOLCHAIN: "auto", CGO_ENABLED: "0" };
    await promisify(execFile)("go", argsFor(unfinished), { env, cwd });
    await rename(join(unfinished, basename(target)), target);
  } catch (error) {
    throw new Error(`${what} could not be built with go`, { cause: error });
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
}

/** `k6` of `go.k6.io/k6/v2`: what stands before the major version. */
function nameOf(path: string): string {
  return path.replace(/\/v\d+$/, "").replace(/^.*\//, "");
}
