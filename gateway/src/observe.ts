import type { Log } from "@tidings/runtime/log";
import type { Request, Response } from "express";
import { Histogram } from "prom-client";

const duration = new Histogram({
  name: "tidings_http_request_duration_seconds",
  help: "Time from a request's headers to the end of its answer",
  labelNames: ["route", "method", "status"],
  buckets: [0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
});

const SLOW_SECONDS = 1;

/** One measurement and one log line for each request, when its answer is over. */
export function observe(request: Request, response: Response, log: Log): void {
  const startedAt = performance.now();
  response.once("close", () => {
    const seconds = (performance.now() - startedAt) / 1000;
    const { method } = request;
    const status = response.writableFinished ? response.statusCode : 499;
    // The template and never the id: a label for each contact would fill the memory.
    const route = response.locals.exchange?.route ?? response.locals.route ?? "unmatched";
    duration.observe({ route, method, status }, seconds);
    const level = status >= 500 || seconds > SLOW_SECONDS ? "info" : "debug";
    if (!log.isLevelEnabled(level)) return;
    log[level]({ method, route, status, seconds, request_id: response.getHeader("x-request-id") }, "request");
  });
}
