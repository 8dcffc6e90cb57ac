import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { collectDefaultMetrics, Gauge, register } from "prom-client";
import type { Log } from "./log.ts";
import { addSource, scrape } from "./scrape.ts";

const NEVER_MS = 2 ** 31 - 1;
/** A process whose readiness check takes longer counts as not ready. */
const READY_MS = 1_500;

export interface OpsServer {
  port: number;
  close(): Promise<void>;
}

export interface OpsOptions {
  log: Log;
  host: string;
  port: number;
  isReady(): Promise<boolean>;
}

// The histograms of the event loop's delay tick a hundred times a second, also when nobody asks: ours do not.
collectDefaultMetrics({ eventLoopMonitoringPrecision: NEVER_MS });
for (const statistic of ["", "min_", "max_", "mean_", "stddev_", "p50_", "p90_", "p99_"])
  register.removeSingleMetric(`nodejs_eventloop_lag_${statistic}seconds`);

const ready = new Gauge({
  name: "tidings_ready",
  help: "1 when the process may get work, 0 when it may not",
});

/**
 * The operator's port: `/livez` answers while the event loop turns, `/readyz` when the process may get work,
 * `/metrics` in the Prometheus text format. Never exposed to the public.
 */
export async function serveOps({ log, host, port, isReady }: OpsOptions): Promise<OpsServer> {
  const read = async () => {
    const inTime = [isReady(), pause(READY_MS, false, { ref: false })];
    return [{ gauge: ready, value: (await Promise.race(inTime).catch(() => false)) ? 1 : 0 }];
  };
  const forgetReady = addSource({ name: "ready", asks: "ready", gauges: [ready], read });
  const server = createServer((request, response) => {
    const answer = (status: number, body: string, type = "text/plain") => {
      response.writeHead(status, { "content-type": type }).end(body);
    };
    switch (request.url) {
      case "/livez":
        return answer(200, "ok");
      case "/readyz":
        return void isReady().then(
          (isReady) => answer(isReady ? 200 : 503, isReady ? "ok" : "not ready"),
          () => answer(503, "not ready"),
        );
      case "/metrics":
        return void scrape(log).then(
          (text) => answer(200, text, register.contentType),
          () => answer(500, "metrics failed"),
        );
      default:
        return answer(404, "not found");
    }
  });
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () =>
      resolve({
        port: (server.address() as AddressInfo).port,
        close: () =>
          new Promise((closed) => {
            forgetReady();
            server.close(() => closed());
            server.closeAllConnections();
          }),
      }),
    );
  });
}
