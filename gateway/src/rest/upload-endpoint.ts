import { SpanKind } from "@opentelemetry/api";
import { inSpan } from "@tidings/runtime/telemetry";
import type { Request, Router } from "express";
import type { Handler } from "./endpoint.ts";
import { methodNotAllowed } from "./error.ts";
import type { ApiResponse } from "./exchange.ts";

/** A path that takes files: its body is not read, but left to the handler. Nothing but a POST is answered there. */
export function uploadEndpoint(router: Router, path: string, handler: Handler): void {
  router.all(path, async (request: Request, response: ApiResponse) => {
    const { exchange } = response.locals;
    exchange.route = `${request.baseUrl}${path}`;
    if (request.method !== "POST") {
      response.setHeader("allow", "POST");
      throw methodNotAllowed();
    }
    const traceparent = request.get("traceparent");
    await inSpan(`POST ${exchange.route}`, { kind: SpanKind.SERVER, traceparent }, () =>
      handler(request, response),
    );
  });
}
