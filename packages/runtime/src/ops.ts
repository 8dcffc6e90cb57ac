import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { collectDefaultMetrics, register } from "prom-client";

export interface OpsServer {
  port: number;
  close(): Promise<void>;
}

collectDefaultMetrics();

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
