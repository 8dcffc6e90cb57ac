import { resolve } from "node:path";
import { onPort } from "./free-port.ts";
import { type ServerProcess, startServer } from "./server-process.ts";
import { serverProgram } from "./server-program.ts";

export interface NatsOptions {
  dataDir: string;
  /** A free one when absent. */
  port?: number;
  /** A configuration file of the server with further settings. */
  configFile?: string;
}

export interface Nats {
  url: string;
  port: number;
  stop(): Promise<void>;
  /** SIGKILL, as a crash would. */
  kill(): Promise<void>;
  /** Starts it again, on the same port and data. */
  start(): Promise<void>;
  /** Done when the present process is gone. */
  readonly exited: Promise<void>;
}

/** A nats-server with JetStream on 127.0.0.1. */
export async function startNats(options: NatsOptions): Promise<Nats> {
  const program = await serverProgram("nats-server");
  const dataDir = resolve(options.dataDir);
  const config = options.configFile ? ["-c", options.configFile] : [];
  const startOn = (port: number) =>
    startServer({
      name: "nats-server",
      command: program.path,
      args: [...config, "-a", "127.0.0.1", "-p", String(port), "-js", "-sd", dataDir],
      dataDir,
      readyText: "Server is ready",
    });

  const { port, first } = await onPort(options.port, async (port) => ({ port, first: await startOn(port) }));
  let server: ServerProcess = first;
  return {
    url: `nats://127.0.0.1:${port}`,
    port,
    stop: () => server.stop(),
    kill: () => server.kill(),
    start: async () => {
      server = await startOn(port);
    },
    get exited() {
      return server.exited;
    },
  };
}
