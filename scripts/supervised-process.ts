import { type ChildProcess, fork } from "node:child_process";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { MEMORY } from "./memory.ts";

export interface ProcessOptions {
  name: string;
  /** Path of the script that Node runs. */
  entry: string;
  /** Its whole environment. Names the ports, so that a restarted process is found again. */
  env: Record<string, string>;
  /** Options of Node; those of a process that gives memory back when absent. */
  execArgv?: string[] | undefined;
  /** Gets every line the process writes, and what happens to it. */
  log: LogSink;
}

export type LogSink = (name: string, line: string) => void;

export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/**
 * A process that is started again, a moment later and on its old ports, whenever it ends by itself. After `kill` it is
 * the caller's: it stays as it is until `restart`.
 */
export interface SupervisedProcess {
  name: string;
  /** The process id of the present or last run. */
  readonly pid: number;
  /** The end of the present run. */
  readonly exited: Promise<Exit>;
  kill(signal?: NodeJS.Signals): void;
  /** Ends the process if it still runs and starts it again. Done when it is ready. */
  restart(): Promise<void>;
  /** Ends it for good: SIGTERM, and SIGKILL when it does not drain in time. */
  stop(): Promise<void>;
}

interface Run {
  child: ChildProcess;
  exited: Promise<Exit>;
  ready: Promise<void>;
}

const RESTART_PAUSE_MS = 1_000;
const STOP_LIMIT_MS = 35_000;

/** Starts a process and waits until it is ready. It ends when this one ends: its IPC channel closes then. */
export async function superviseProcess(options: ProcessOptions): Promise<SupervisedProcess> {
  const { name, log } = options;
  let isSupervised = true;
  let run = spawnRun(options);

  const supervise = (watched: Run) => {
    watched.exited.then(async (exit) => {
      if (!isSupervised || run !== watched) return;
      log(name, `${name} ended (${exit.signal ?? `code ${exit.code}`}) and is started again`);
      await pause(RESTART_PAUSE_MS);
      if (isSupervised && run === watched) begin().catch(() => undefined); // a failed start is an end, too
    });
  };
  const begin = (): Promise<void> => {
    run = spawnRun(options);
    supervise(run);
    return run.ready;
  };
  const end = async () => {
    isSupervised = false;
    run.child.kill("SIGTERM");
    const impatience = setTimeout(() => run.child.kill("SIGKILL"), STOP_LIMIT_MS);
    await run.exited;
    clearTimeout(impatience);
  };

  await run.ready;
  supervise(run);
  return {
    name,
    get pid() {
      return run.child.pid as number;
    },
    get exited() {
      return run.exited;
    },
    kill(signal = "SIGKILL") {
      isSupervised = false;
      run.child.kill(signal);
    },
    async restart() {
      await end();
      isSupervised = true;
      await begin();
    },
    stop: end,
  };
}

/** In a process group of its own: a Ctrl-C in the terminal does not reach it before it is its turn. */
function spawnRun({ name, entry, env, execArgv = MEMORY.execArgv, log }: ProcessOptions): Run {
  const child = fork(entry, [], {
    execArgv,
    detached: true,
    env: { ...MEMORY.env, ...env },
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
  for (const stream of [child.stdout, child.stderr]) {
    if (stream) createInterface({ input: stream }).on("line", (line) => log(name, line));
  }
  const exited = new Promise<Exit>((resolve) => {
    child.once("exit", (code, signal) => resolve({ code, signal }));
  });
  const ready = new Promise<void>((resolve, reject) => {
    child.on("message", (message: { ready?: boolean }) => message.ready && resolve());
    child.once("error", reject);
    exited.then(({ code, signal }) =>
      reject(new Error(`${name} did not start (${signal ?? `code ${code}`})`)),
    );
  });
  ready.catch(() => undefined); // awaited elsewhere
  return { child, exited, ready };
}
