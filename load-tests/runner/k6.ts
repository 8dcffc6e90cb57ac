import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { boundToParent } from "@tidings/embedded/bound-to-parent";
import { goProgram } from "@tidings/embedded/go-program";

/** The version that is run everywhere. */
export const K6 = { package: "go.k6.io/k6", version: "v1.8.1", exact: true };

/** The sources that k6 runs as they are. */
export const SCRIPT = join(import.meta.dirname, "../k6/main.ts");

export interface K6Run {
  pid: number;
  /** k6's own exit code (https://grafana.com/docs/k6/latest/using-k6/k6-options/reference/); 99 when a threshold failed. */
  exitCode: Promise<number>;
  /** The run ends in order, teardown included. */
  stop(): void;
  kill(): void;
}

/** The program, built from its source the first time. */
export function k6Program(): Promise<string> {
  return goProgram(K6);
}

/** Starts a run, which ends in order when this process ends; `env` is what `k6/settings.ts` reads. */
export function startK6(
  program: string,
  env: Record<string, string>,
  stdio: "inherit" | "ignore" = "inherit",
): K6Run {
  const run = [program, "run", "--quiet", "--no-usage-report", "--address", "", SCRIPT];
  const [command = "", ...args] = boundToParent(run);
  // In a process group of its own: a Ctrl-C in the terminal reaches it once, through us.
  const child = spawn(command, args, { env: { ...process.env, ...env }, stdio, detached: true });
  return {
    pid: child.pid ?? 0,
    exitCode: exitCodeOf(child),
    stop: () => child.kill("SIGINT"),
    kill: () => child.kill("SIGKILL"),
  };
}

async function exitCodeOf(child: ChildProcess): Promise<number> {
  const [code] = await once(child, "exit");
  return code ?? 1;
}
