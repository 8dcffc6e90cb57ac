import { setTimeout as pause } from "node:timers/promises";
import type { Log } from "@tidings/runtime/log";
import { untilTick } from "@tidings/runtime/tick";
import { Client } from "pg";
import { Gauge } from "prom-client";

export interface Leadership {
  isLeader(): boolean;
  stop(): Promise<void>;
}

export interface LeadershipOptions {
  url: string;
  name: string;
  log: Log;
  /** Called when this process begins to lead, and when it does no more. */
  onChange?(isLeader: boolean): void;
}

const leads = new Gauge({
  name: "tidings_leader",
  help: "1 in the process that leads what is done by one at a time, 0 in those that would take over",
  labelNames: ["of"],
});

const RETRY_MS = 1_000;
/** How often a leader shows that it is there, and after how long a silence the server takes the lock from it. */
const HEARTBEAT_MS = 5_000;
const SILENCE_MAX_MS = 12_000;
const ANSWER_MS = 3_000;

/**
 * Runs for the leadership of `name` in the schema of the connection: an advisory lock on a connection of its own, free
 * again as soon as that connection ends. The server ends it when it hears nothing for twelve seconds, and the leader when it
 * gets no answer: another one takes over. It saves replicas from doing the same work; who was paused still believes in
 * itself for a moment, so what the leader does must be harmless when two do it.
 */
export function electLeader(options: LeadershipOptions): Leadership {
  const stopping = new AbortController();
  let isLeader = false;
  leads.set({ of: options.name }, 0);
  const setLeader = (value: boolean) => {
    if (value === isLeader) return;
    isLeader = value;
    leads.set({ of: options.name }, value ? 1 : 0);
    options.onChange?.(value);
  };

  const runOnce = async () => {
    const client = new Client({
      connectionString: options.url,
      connectionTimeoutMillis: 2_000,
      keepAlive: true,
      query_timeout: ANSWER_MS,
    });
    const ended = new Promise<void>((resolve) => {
      client.on("error", (error) => options.log.warn({ err: error }, "leadership connection lost"));
      client.on("end", resolve);
    });
    try {
      await client.connect();
      await client.query(`set idle_session_timeout = '${SILENCE_MAX_MS}ms'`);
      while (!stopping.signal.aborted && !isLeader) {
        setLeader(await tryLock(client, options.name));
        if (!isLeader) await sleep(stopping.signal);
      }
      await Promise.race([ended, aborted(stopping.signal), silence(client, stopping.signal)]);
    } finally {
      setLeader(false);
      await endSession(client);
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

/** Resolves when the server does not answer a heartbeat any more. */
async function silence(client: Client, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await pause(untilTick(HEARTBEAT_MS), undefined, { signal }).catch(() => undefined); // we are to stop
    try {
      await client.query("select 1");
    } catch {
      return; // the next leader finds out why
    }
  }
}

/** A server that answers nothing is not waited for. */
async function endSession(client: Client): Promise<void> {
  const impatience = setTimeout(() => client.connection.stream.destroy(), ANSWER_MS);
  await client.end().catch(() => undefined); // it had ended already
  clearTimeout(impatience);
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
