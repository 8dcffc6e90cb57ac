import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

/** A process of the bench beside this one. It ends with this one. */
export interface BenchProcess<Started> {
  child: ChildProcess;
  pid: number;
  /** The first message of the process. */
  started: Started;
  stop(): Promise<void>;
}

/** Runs a program of the bench, and waits until it sends that it started. */
export async function startBenchProcess<Started>(
  file: string,
  env: Record<string, string>,
): Promise<BenchProcess<Started>> {
  const child = fork(join(import.meta.dirname, file), [], { execArgv: [], env: { ...process.env, ...env } });
  const exited = once(child, "exit");
  const message = await Promise.race([once(child, "message"), exited.then(() => undefined)]);
  if (!message) throw new Error(`${file} did not start`);
  return {
    child,
    pid: child.pid as number,
    started: message[0] as Started,
    async stop() {
      child.kill();
      await exited;
    },
  };
}
