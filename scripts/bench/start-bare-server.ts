import { startBenchProcess } from "./start-bench-process.ts";

export interface BareServer {
  url: string;
  pid: number;
  stop(): Promise<void>;
}

/** Runs a server to compare with in a process of its own, and learns its port from it. It ends with this one. */
export async function startBareServer(file: string, env: Record<string, string>): Promise<BareServer> {
  const { pid, started, stop } = await startBenchProcess<{ port: number }>(file, env);
  return { url: `http://127.0.0.1:${started.port}`, pid, stop };
}
