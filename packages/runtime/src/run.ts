import { setTimeout as pause } from "node:timers/promises";
import { register } from "prom-client";
import type { Log } from "./log.ts";
import { serveOps } from "./ops.ts";
import { STOP_LIMIT_MS } from "./stop-limit.ts";
import { startTelemetry, stopTelemetry } from "./telemetry.ts";

/** Handed to a process while it starts: what it opens is closed again in reverse order. */
export interface Lifecycle {
  /** Registers how to stop something that was just started. */
  onStop(name: string, stop: () => Promise<void> | void): void;
  /** True once the process has received the signal to stop. It still serves for a moment. */
  isStopping(): boolean;
}

export interface Started {
  /** Ports the process serves on, by name; sent to a parent process that waits for them. */
  ports: Record<string, number>;
  /** May this process get work now? Its own database counts, NATS and Redis do not. */
  isReady(): Promise<boolean>;
}

export interface RunOptions {
  /** The name of the process in metrics and traces. */
  name: string;
  log: Log;
  host: string;
  opsPort: number;
  /** Between turning not ready and stopping: load balancers need a while to notice. */
  shutdownDelayMs: number;
  /** A statement of a traced request that takes longer has a span of its own. */
  traceStatementsMs: number;
  /** How long stopping may take; 30 seconds when absent. */
  stopLimitMs?: number | undefined;
}

/**
 * Runs a process: starts it in order, serves the operator's port, and on SIGTERM or SIGINT turns not ready, stops
 * everything in reverse order and exits 0. A second signal exits at once. A failed start exits 1 with one clear line.
 * A child of a supervisor (IPC channel) also stops when the supervisor is gone.
 */
export async function run(
  options: RunOptions,
  start: (lifecycle: Lifecycle) => Promise<Started>,
): Promise<void> {
  const { log } = options;
  // In a time zone that skips a day (Pacific/Apia in 2011) local dates cannot have that day, and libraries count with them.
  process.env.TZ = "UTC";
  const stops: { name: string; stop: () => Promise<void> | void }[] = [];
  let stopping = false;
  let started: Started | undefined;

  const shutDown = async (reason: string, exitCode: number) => {
    if (stopping) process.exit(exitCode || 1);
    stopping = true;
    log.info({ reason }, "stopping");
    const isServing = started !== undefined && exitCode === 0;
    if (isServing) await pause(options.shutdownDelayMs);
    setTimeout(() => process.exit(exitCode || 1), options.stopLimitMs ?? STOP_LIMIT_MS).unref();
    for (const { name, stop } of stops.reverse()) {
      await Promise.resolve(stop()).catch((error) => log.error({ err: error }, `stopping ${name} failed`));
    }
    await stopTelemetry().catch((error) => log.warn({ err: error }, "telemetry not sent"));
    log.info("stopped");
    process.exit(exitCode);
  };

  process.on("SIGTERM", () => void shutDown("SIGTERM", 0));
  process.on("SIGINT", () => void shutDown("SIGINT", 0));
  process.on("disconnect", () => void shutDown("supervisor is gone", 1));
  process.on("uncaughtException", (error) => {
    log.fatal({ err: error }, "uncaught exception");
    void shutDown("uncaught exception", 1);
  });

  try {
    const { name: service, traceStatementsMs: statementsMs } = options;
    await startTelemetry({ service, log, statementsMs });
    register.setDefaultLabels({ process: options.name });
    const ops = await serveOps({
      log,
      host: options.host,
      port: options.opsPort,
      isReady: async () => !stopping && started !== undefined && started.isReady(),
    });
    stops.push({ name: "operator port", stop: ops.close });
    started = await start({ onStop: (name, stop) => stops.push({ name, stop }), isStopping: () => stopping });
    const ports = { ...started.ports, ops: ops.port };
    log.info({ ports }, "ready");
    process.send?.({ ready: true, ports });
  } catch (error) {
    log.fatal({ err: error }, "start failed");
    await shutDown("start failed", 1);
  }
}
