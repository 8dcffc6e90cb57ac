import { SpanKind } from "@opentelemetry/api";
import { toFault } from "@tidings/rpc/fault";
import { inSpan } from "@tidings/runtime/telemetry";
import type { Request, Response } from "express";
import { errorEntry } from "./rest/error.ts";
import { keepSpanOf } from "./rest/span-of.ts";

const STATUS = "http.response.status_code";

/** Answers a request in a span of its route ("Semantic conventions for HTTP spans"). Only an answer that is our fault ends it as failed. */
export function inHttpSpan(
  {
    request,
    response,
    method,
    route,
  }: { request: Request; response: Response; method: string; route: string },
  answer: () => Promise<void>,
): Promise<void> {
  const attributes = () => ({
    "http.request.method": request.method,
    "http.route": route,
    "url.path": request.originalUrl.split("?", 1)[0] ?? "",
    "url.scheme": request.protocol,
    "network.protocol.version": request.httpVersion,
    "user_agent.original": request.get("user-agent") ?? "",
  });
  const traceparent = request.get("traceparent");
  const isFailure = (error: unknown) => statusOf(error) >= 500;
  return inSpan(
    `${method} ${route}`,
    { kind: SpanKind.SERVER, traceparent, attributes, isFailure },
    async (span) => {
      try {
        await answer();
        span.setAttribute(STATUS, response.statusCode);
      } catch (error) {
        keepSpanOf(response);
        const status = statusOf(error);
        span.setAttribute(STATUS, status);
        if (status >= 500) span.setAttribute("error.type", String(status));
        throw error;
      }
    },
  );
}

function statusOf(error: unknown): number {
  return errorEntry(toFault(error)).code;
}
