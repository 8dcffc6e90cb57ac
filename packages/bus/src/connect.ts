import { setTimeout as pause } from "node:timers/promises";
import { type JetStreamClient, type JetStreamManager, jetstream, jetstreamManager } from "@nats-io/jetstream";
import { connect, type NatsConnection } from "@nats-io/transport-node";
import type { Log } from "@tidings/runtime/log";
import { Gauge } from "prom-client";
import { type NatsServer, natsServer } from "./nats-server.ts";

/** The clients of a live connection to NATS. */
export interface BusClient {
  jetstream: JetStreamClient;
  manager: JetStreamManager;
}

export interface Bus {
  log: Log;
  /** Copies the server keeps of each stream. */
  replicas: number;
  /** The durables that the process may read by (`durableKey`); undefined where it may by any. */
  durables: string[] | undefined;
  /** The version of the program: processes of a later one are given its durables. */
  version: number;
  isConnected(): boolean;
  /** Throws BusUnavailable when NATS has not been reached yet. */
  client(): BusClient;
  /** Bytes of the largest payload the server takes; headers and subject are allowed for. */
  payloadMax(): number;
  /** Calls `listener` each time the connection is made or made again. */
  onConnected(listener: () => void): void;
  /** Wakes the processes that listen now; nothing is kept for others. Not a subject of any stream. */
  nudge(subject: string): void;
  onNudge(subject: string, listener: () => void): void;
  close(): Promise<void>;
}

export interface BusOptions extends NatsServer {
  /** The name of the process in NATS. Replies go to inboxes of this name, which other users cannot read. */
  name: string;
  log: Log;
  /** 1 when absent. */
  replicas?: number;
  /** Any when absent. */
  durables?: string[];
  /** 0 when absent. */
  version?: number;
}

/** The variables of a process that say where its bus is. */
export interface BusConfig {
  NATS_URL: string;
  NATS_CREDENTIALS_FILE?: string | undefined;
  NATS_CA_FILE?: string | undefined;
  NATS_REPLICAS: number;
}

export function busOptions(config: BusConfig): Omit<BusOptions, "name" | "log"> {
  const { NATS_URL: url, NATS_CREDENTIALS_FILE: credentialsFile, NATS_CA_FILE: caFile } = config;
  return { url, credentialsFile, caFile, replicas: config.NATS_REPLICAS };
}

/** NATS cannot be reached at present. */
export class BusUnavailable extends Error {
  override name = "BusUnavailable";
}

const connected = new Gauge({
  name: "tidings_bus_connected",
  help: "1 while the process is connected to NATS, 0 while it is not",
});

const RECONNECT_MS = 250;
const DEFAULT_PAYLOAD_MAX = 1024 * 1024;
const ENVELOPE_MAX = 1024;
const PING_INTERVAL_MS = 10_000;

/**
 * Connects in the background and keeps the connection for ever: NATS may be away when the process starts, and later for
 * any length of time. Who needs it meanwhile gets BusUnavailable.
 */
export function connectBus({ name, log, replicas = 1, durables, version = 0, ...server }: BusOptions): Bus {
  const closing = new AbortController();
  const listeners: (() => void)[] = [];
  const nudges = new Map<string, () => void>();
  let connection: NatsConnection | undefined;
  let client: BusClient | undefined;
  let isConnected = false;

  const setConnected = (value: boolean) => {
    if (value === isConnected) return;
    isConnected = value;
    connected.set(value ? 1 : 0);
    if (closing.signal.aborted) return;
    if (!value) return log.warn("connection to NATS lost");
    log.info("connected to NATS");
    for (const listener of listeners) listener();
  };

  const connectOnce = async () => {
    const opened = await openConnection(name, server);
    if (closing.signal.aborted) return opened.close();
    connection = opened;
    for (const [subject, callback] of nudges) opened.subscribe(subject, { callback });
    client = { jetstream: jetstream(opened), manager: await jetstreamManager(opened, { checkAPI: false }) };
    setConnected(true);
    void followStatus(opened, setConnected);
    const reason = await opened.closed();
    setConnected(false);
    if (reason) throw reason;
  };

  void keepConnected(connectOnce, log, closing.signal);

  return {
    log,
    replicas,
    durables,
    version,
    isConnected: () => isConnected,
    client() {
      if (!client || !isConnected) throw new BusUnavailable("NATS cannot be reached");
      return client;
    },
    payloadMax: () => (connection?.info?.max_payload ?? DEFAULT_PAYLOAD_MAX) - ENVELOPE_MAX,
    onConnected: (listener) => listeners.push(listener),
    nudge(subject) {
      if (isConnected) connection?.publish(subject);
    },
    onNudge(subject, callback) {
      nudges.set(subject, callback);
      connection?.subscribe(subject, { callback });
    },
    async close() {
      closing.abort();
      // A drain waits for the server: without one there is nothing to wait for.
      if (isConnected) await connection?.drain();
      else await connection?.close();
    },
  };
}

function openConnection(name: string, server: NatsServer): Promise<NatsConnection> {
  return connect({
    ...natsServer(server),
    name,
    inboxPrefix: `_INBOX_${name}`,
    maxReconnectAttempts: -1,
    ignoreAuthErrorAbort: true,
    reconnectTimeWait: RECONNECT_MS,
    reconnectJitter: RECONNECT_MS,
    pingInterval: PING_INTERVAL_MS,
    // Else each publish makes two errors with stack traces, in case it fails.
    noAsyncTraces: true,
  });
}

async function keepConnected(connectOnce: () => Promise<void>, log: Log, closing: AbortSignal) {
  let failures = 0;
  while (!closing.aborted) {
    try {
      await connectOnce();
      failures = 0;
    } catch (error) {
      failures += 1;
      if (failures === 1) log.warn({ err: error }, "NATS cannot be reached");
    }
    await pause(RECONNECT_MS * (1 + Math.random()), undefined, { signal: closing }).catch(stopped);
  }
}

async function followStatus(connection: NatsConnection, setConnected: (value: boolean) => void) {
  for await (const { type } of connection.status()) {
    if (type === "disconnect") setConnected(false);
    if (type === "reconnect") setConnected(true);
  }
}

/** Aborting its pause ends a loop. */
function stopped(): void {}
