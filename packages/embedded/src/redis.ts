import { resolve } from "node:path";
import { onPort } from "./free-port.ts";
import { startServer } from "./server-process.ts";
import { serverProgram } from "./server-program.ts";

export interface RedisOptions {
  dataDir: string;
  /** A free one when absent. */
  port?: number;
}

export interface Redis {
  url: string;
  port: number;
  stop(): Promise<void>;
}

/** A Redis on 127.0.0.1 that keeps nothing on disk. */
export async function startRedis(options: RedisOptions): Promise<Redis> {
  const program = await serverProgram("redis-server");
  const dataDir = resolve(options.dataDir);
  return onPort(options.port, async (port) => {
    const address = ["--bind", "127.0.0.1", "--port", String(port)];
    const { stop } = await startServer({
      name: "redis-server",
      command: program.path,
      args: [...address, "--dir", dataDir, "--save", "", "--appendonly", "no"],
      env: program.env,
      dataDir,
      readyText: "Ready to accept connections",
    });
    return { url: `redis://127.0.0.1:${port}`, port, stop };
  });
}
