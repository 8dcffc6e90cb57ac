import { resolve } from "node:path";
import { onPort } from "./free-port.ts";
import { createCluster } from "./postgres-cluster.ts";
import { type PostgresProgram, postgresProgram } from "./postgres-program.ts";
import { startServer } from "./server-process.ts";

export interface PostgresOptions {
  dataDir: string;
  /** A free one when absent. */
  port?: number;
  /** False for throw-away data: much faster, lost in a crash. */
  durable?: boolean;
  /** Its `shared_buffers`; 256 MB when absent, 64 MB for throw-away data. */
  buffers?: string | undefined;
  /** The npm package's when absent. */
  program?: PostgresProgram;
}

export interface Postgres {
  /** The URL of the database `tidings`, as its superuser. */
  url: string;
  port: number;
  readonly pid: number;
  /** Done when the present process is gone. */
  readonly exited: Promise<void>;
  stop(): Promise<void>;
  /** Starts it again, on the same port and data. */
  start(): Promise<void>;
}

/** A Postgres on 127.0.0.1. Makes the cluster and the database when the directory has none yet. */
export async function startPostgres(options: PostgresOptions): Promise<Postgres> {
  const { dataDir, port, durable = true, buffers = durable ? "256MB" : "64MB" } = options;
  const program = options.program ?? (await postgresProgram());
  const cluster = await createCluster(program, resolve(dataDir));
  const startOn = (port: number) =>
    startServer({
      name: "postgres",
      command: program.postgres,
      args: [
        "-D",
        cluster.path,
        ...settings({ port: String(port), shared_buffers: buffers, ...COMMON, ...(durable ? {} : FAST) }),
      ],
      dataDir: resolve(dataDir),
      readyText: "database system is ready to accept connections",
      userId: program.userId,
    });
  const first = await onPort(port, async (port) => ({ port, server: await startOn(port) }));
  let { server } = first;
  return {
    url: `postgres://tidings:${cluster.password}@127.0.0.1:${first.port}/tidings`,
    port: first.port,
    get pid() {
      return server.pid;
    },
    get exited() {
      return server.exited;
    },
    stop: () => server.stop(),
    start: async () => {
      server = await startOn(first.port);
    },
  };
}

const COMMON = {
  listen_addresses: "127.0.0.1",
  unix_socket_directories: "",
  max_connections: "200",
  jit: "off",
};

const FAST = {
  // Test files run side by side, each with pools of all processes.
  max_connections: "400",
  fsync: "off",
  synchronous_commit: "off",
  full_page_writes: "off",
};

function settings(values: Record<string, string>): string[] {
  return Object.entries(values).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
}
