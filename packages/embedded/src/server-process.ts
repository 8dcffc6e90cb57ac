import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { boundToParent } from "./bound-to-parent.ts";
import { commandLineOf } from "./command-line.ts";

export interface ServerCommand {
  /** As shown in errors. */
  name: string;
  command: string;
  args: string[];
  env?: NodeJS.ProcessEnv;
  /** An absolute path that occurs in the command line. Process id and log of the server are kept here. */
  dataDir: string;
  /** The text that the server logs once it accepts connections. */
  readyText: string;
  /** A user id that the server runs as instead of root. */
  userId?: number | undefined;
}

export interface ServerProcess {
  pid: number;
  /** Done when the process is gone, whatever ended it. */
  exited: Promise<void>;
  /** SIGINT, then SIGKILL if that is not enough. Done when the process is gone. */
  stop(): Promise<void>;
  /** SIGKILL. Done when the process is gone. */
  kill(): Promise<void>;
}

/** Another process listens on the port. */
export class PortTakenError extends Error {
  override name = "PortTakenError";
}

const START_LIMIT_MS = 60_000;
const STOP_LIMIT_MS = 20_000;
const POLL_MS = 20;

/**
 * Starts a server and waits until it is ready. It ends when its parent ends, however that happens, and a Ctrl-C in the
 * terminal does not reach it. Throws PortTakenError, or an error with what the server logged.
 */
export async function startServer(server: ServerCommand): Promise<ServerProcess> {
  mkdirSync(server.dataDir, { recursive: true });
  const pidFile = join(server.dataDir, "server.pid");
  const logFile = join(server.dataDir, "server.log");
  await stopLeftOver(pidFile, server.dataDir);

  const child = spawnLogged(server, logFile);
  const exited = exitOf(child);
  await untilReady(child, exited, server, logFile);
  const pid = child.pid as number;
  writeFileSync(pidFile, String(pid));
  child.unref(); // a server still running does not keep its parent from ending

  const end = async (signal: NodeJS.Signals) => {
    child.ref();
    child.kill(signal);
    const impatience = setTimeout(() => child.kill("SIGKILL"), STOP_LIMIT_MS);
    await exited;
    clearTimeout(impatience);
    rmSync(pidFile, { force: true });
  };
  return { pid, exited, stop: () => end("SIGINT"), kill: () => end("SIGKILL") };
}

function spawnLogged(server: ServerCommand, logFile: string): ChildProcess {
  const log = openSync(logFile, "w");
  const [command = "", ...args] = boundToParent([server.command, ...server.args], server.userId);
  const env = { ...process.env, ...server.env };
  const child = spawn(command, args, { detached: true, env, stdio: ["ignore", log, log] });
  closeSync(log);
  return child;
}

async function untilReady(
  child: ChildProcess,
  exited: Promise<void>,
  server: ServerCommand,
  logFile: string,
): Promise<void> {
  const giveUpAt = Date.now() + START_LIMIT_MS;
  const hasEnded = exited.then(() => true);
  for (;;) {
    const ended = await Promise.race([hasEnded, pause(POLL_MS, false)]);
    const output = readFileSync(logFile, "utf8");
    if (!ended && output.includes(server.readyText)) return;
    if (!ended && Date.now() < giveUpAt) continue;
    child.kill("SIGKILL");
    if (/address already in use/i.test(output)) throw new PortTakenError(`${server.name}: port in use`);
    throw new Error(`${server.name} did not start:\n${output.trim()}`);
  }
}

/** A parent that was killed may have left its server behind: two servers on one data directory would destroy it. */
async function stopLeftOver(pidFile: string, dataDir: string): Promise<void> {
  const pid = readPid(pidFile);
  if (pid === undefined) return;
  const isRunning = () => commandLineOf(pid)?.includes(dataDir) ?? false;
  const killAt = Date.now() + STOP_LIMIT_MS;
  if (isRunning()) process.kill(pid, "SIGINT");
  while (isRunning()) {
    await pause(POLL_MS);
    if (Date.now() > killAt && isRunning()) process.kill(pid, "SIGKILL");
  }
}

function exitOf(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", () => resolve());
  });
}

function readPid(path: string): number | undefined {
  try {
    return Number(readFileSync(path, "utf8")) || undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
