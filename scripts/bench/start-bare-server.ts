import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

export interface BareServer {
  url: string;
  pid: number;
  stop(): Promise<void>;
}

/** Runs a server to compare with in a process of its own, and learns its port from it. It ends with this one. */
export async function startBareServer(file: string, env: Record<string, string>): Promise<BareServer> {
  const child = fork(join(import.meta.dirname, file), [], { execArgv: [], env: { ...process.env, ...env } });
  const exited = once(child, "exit");
  const message = await Promise.race([once(child, "message"), exited.then(() => undefined)]);
  if (!message) throw new Error(`${file} did not start`);
  const { port } = message[0] as { port: number };
  return {
    url: `http://127.0.0.1:${port}`,
    pid: child.pid as number,
    async stop() {
      child.kill();
      await exited;
    },
  };
}
