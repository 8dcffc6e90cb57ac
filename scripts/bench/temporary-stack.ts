import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startNats } from "@tidings/embedded/nats";
import { startPostgres } from "@tidings/embedded/postgres";
import { bundlePrograms } from "../bundle.ts";
import { forScreen } from "../log-files.ts";
import { type Stack, type StackOptions, startStack } from "../stack.ts";
import { onStopSignal } from "../stop-signal.ts";

export interface TemporaryStack {
  stack: Stack;
  baseUrl: string;
  /** The password of the administrator `admin`. */
  password: string;
  postgres: { url: string; pid: number };
  natsPid: number;
  natsUrl: string;
  /** The folder of uploaded files. */
  filesDir: string;
  /** Ends every process and removes the data. */
  stop(): Promise<void>;
}

/** The one stack of a command: it ends when the command stops it, and on Ctrl-C. */
export function stackOfCommand() {
  let starting: Promise<TemporaryStack> | undefined;
  const stop = async () => {
    const own = await starting?.catch(() => undefined); // its starter reports it
    await own?.stop();
  };
  onStopSignal({
    async stop() {
      await stop();
      process.exit(130);
    },
    kill: () => undefined, // every child ends with this process
  });
  return {
    start(...options: Parameters<typeof startTemporaryStack>): Promise<TemporaryStack> {
      starting = startTemporaryStack(...options);
      return starting;
    },
    stop,
  };
}

/** The whole product with a durable Postgres and a NATS of its own in a temporary folder. Warnings go to the screen. */
export async function startTemporaryStack({
  buffers,
  ...own
}: Pick<StackOptions, "env" | "replicas" | "actorKeyRing" | "publicTokenKey"> & {
  buffers?: string | undefined;
} = {}): Promise<TemporaryStack> {
  const folder = await mkdtemp(join(tmpdir(), "tidings-"));
  const stops = [() => rm(folder, { recursive: true, force: true })];
  let stopped: Promise<void> | undefined;
  const stopAll = async () => {
    for (const stopOne of stops.reverse()) await stopOne();
  };
  const stop = () => {
    stopped ??= stopAll();
    return stopped;
  };
  try {
    await bundlePrograms();
    const natsDir = join(folder, "nats");
    const filesDir = join(folder, "files");
    const postgres = await startPostgres({ dataDir: join(folder, "postgres"), buffers });
    stops.push(postgres.stop);
    const nats = await startNats({ dataDir: natsDir });
    stops.push(nats.stop);
    const password = randomBytes(12).toString("base64url");
    const stack = await startStack({
      ...own,
      log: showWarnings,
      filesDir,
      database: { adminUrl: postgres.url, rolePassword: randomBytes(24).toString("hex") },
      natsUrl: nats.url,
      administrator: { username: "admin", password },
    });
    stops.push(stack.stop);
    const natsPid = Number(readFileSync(join(natsDir, "server.pid"), "utf8"));
    return { stack, baseUrl: stack.baseUrl, password, postgres, natsPid, natsUrl: nats.url, filesDir, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function showWarnings(name: string, line: string): void {
  const shown = forScreen(line);
  if (shown) console.error(`${name}: ${shown}`);
}
