import { setTimeout as pause } from "node:timers/promises";
import type { Log } from "@tidings/runtime/log";
import { Client } from "pg";

export interface Leadership {
  isLeader(): boolean;
  stop(): Promise<void>;
}

const RETRY_MS = 1_000;

/**
 * Runs for the leadership of `name` in the schema of the connection: an advisory lock on a connection of its own, free
 * again as soon as that connection ends. It saves replicas from doing the same work; a paused leader still believes in
 * itself, so what the leader does must be harmless when two do it.
 */
export function electLeader(options: { url: string; name: string; log: Log }): Leadership {
  const stopping = new AbortController();
  let isLeader = false;

  const runOnce = async () => {
    const client = new Client({
      connectionString: options.url,
      connectionTimeoutMillis: 2_000,
      keepAlive: true,
    });
    const ended = new Promise<void>((resolve) => {
      client.on("error", (error) => options.log.warn({ err: error }, "leadership connection lost"));
      client.on("end", resolve);
    });
    try {
      await client.connect();
      while (!stopping.signal.aborted && !isLeader) {
        isLeader = await tryLock(client, options.name);
        if (!isLeader) await sleep(stopping.signal);
      }
      await Promise.race([ended, aborted(stopping.signal)]);
    } finally {
      isLeader = false;
      await client.end();
    }
  };

  const run = async () => {
    while (!stopping.signal.aborted) {
      await runOnce().catch((error) => options.log.warn({ err: error }, "election failed"));
      await sleep(stopping.signal);
    }
  };
  const running = run();

  return {
    isLeader: () => isLeader,
    stop() {
      stopping.abort();
      return running;
    },
  };
}

async function tryLock(client: Client, name: string): Promise<boolean> {
  const text = "select pg_try_advisory_lock(hashtext($1 || ':' || current_schema())) as locked";
  const { rows } = await client.query<{ locked: boolean }>(text, [name]);
  return rows[0]?.locked ?? false;
}

async function sleep(signal: AbortSignal): Promise<void> {
  await pause(RETRY_MS, undefined, { signal }).catch(() => undefined); // we are to stop
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
