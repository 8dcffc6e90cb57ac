import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { collectDefaultMetrics, Gauge, register } from "prom-client";

const NEVER_MS = 2 ** 31 - 1;
const LOOK_MS = 1_000;

export interface OpsServer {
  port: number;
  close(): Promise<void>;
}

// The histograms of the event loop's delay tick a hundred times a second, also when nothing happens: this looks once.
collectDefaultMetrics({ eventLoopMonitoringPrecision: NEVER_MS });
for (const statistic of ["min", "max", "mean", "stddev", "p50", "p90", "p99"])
  register.removeSingleMetric(`nodejs_eventloop_lag_${statistic}_seconds`);
let lagMaxMs = 0;
let lookedAt = performance.now();
const look = () => {
  lagMaxMs = Math.max(lagMaxMs, performance.now() - lookedAt - LOOK_MS);
  lookedAt = performance.now();
};
setInterval(look, LOOK_MS).unref();
new Gauge({
  name: "tidings_event_loop_lag_max_seconds",
  help: "The longest that the event loop was held up since the last scrape",
  collect() {
    this.set(lagMaxMs / 1_000);
    lagMaxMs = 0;
  },
});

/**
 * The operator's port: `/livez` answers while the event loop turns, `/readyz` when the process may get work,
 * `/metrics` in the Prometheus text format. Never exposed to the public.
 */
export function serveOps(host: string, port: number, isReady: () => Promise<boolean>): Promise<OpsServer> {
  const server = createServer((request, response) => {
    const answer = (status: number, body: string, type = "text/plain") => {
      response.writeHead(status, { "content-type": type }).end(body);
    };
    switch (request.url) {
      case "/livez":
        return answer(200, "ok");
      case "/readyz":
        return void isReady().then(
          (ready) => answer(ready ? 200 : 503, ready ? "ok" : "not ready"),
          () => answer(503, "not ready"),
        );
      case "/metrics":
        return void register.metrics().then(
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
            server.close(() => closed());
            server.closeAllConnections();
          }),
      }),
    );
  });
}
