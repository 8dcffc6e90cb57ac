import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

export interface BareServer {
  url: string;
  pid: number;
  stop(): Promise<void>;
}

/** Runs the bare server in a process of its own. It ends with this one. */
export async function startBareServer(databaseUrl: string): Promise<BareServer> {
  const child = fork(join(import.meta.dirname, "bare-server.ts"), [], {
    execArgv: [],
    env: { ...process.env, DATABASE_URL: databaseUrl },
  });
  const exited = once(child, "exit");
  const message = await Promise.race([once(child, "message"), exited.then(() => undefined)]);
  if (!message) throw new Error("the bare server did not start");
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
