import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { chown, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { boundToParent } from "./bound-to-parent.ts";
import type { PostgresProgram } from "./postgres-program.ts";

export interface Cluster {
  path: string;
  /** The password of the superuser `tidings`. */
  password: string;
}

/** The cluster in `dataDir`, made on first use with the superuser and the database `tidings`. */
export async function createCluster(program: PostgresProgram, dataDir: string): Promise<Cluster> {
  const path = join(dataDir, "cluster");
  const passwordFile = join(dataDir, "superuser-password");
  if (!existsSync(path)) {
    await mkdir(dataDir, { recursive: true });
    await writeFile(passwordFile, randomBytes(24).toString("hex"), { mode: 0o600 });
    await initialise(program, path, passwordFile);
  }
  return { path, password: await readFile(passwordFile, "utf8") };
}

/** Works beside the final place, so that a cluster is there as a whole or not at all. */
async function initialise(program: PostgresProgram, path: string, passwordFile: string): Promise<void> {
  const unfinished = `${path}.new`;
  await rm(unfinished, { recursive: true, force: true });
  await mkdir(unfinished, { mode: 0o700 });
  if (program.userId !== undefined) await chown(unfinished, program.userId, program.userId);
  await runAs(program.userId, [
    program.initdb,
    "-D",
    unfinished,
    `--pwfile=${passwordFile}`,
    ...CLUSTER,
    ...program.locale,
  ]);
  const single = [program.postgres, "--single", "-D", unfinished, "postgres"];
  await runAs(program.userId, single, "create database tidings\n");
  await rename(unfinished, path);
}

const CLUSTER = ["--username=tidings", "--auth=scram-sha-256", "--encoding=UTF8"];

async function runAs(userId: number | undefined, commandLine: string[], input = ""): Promise<void> {
  const [command = "", ...args] = boundToParent(commandLine, userId);
  const running = promisify(execFile)(command, args, { env: { ...process.env, LC_ALL: "C" } });
  running.child.stdin?.end(input);
  await running;
}
