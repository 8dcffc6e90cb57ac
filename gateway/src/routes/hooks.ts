import type { TriggerService } from "@tidings/proto/tidings/webhook/v1/trigger";
import type { RpcClient } from "@tidings/rpc/client";
import { type Request, Router } from "express";
import { endpoint } from "../rest/endpoint.ts";
import { type ApiResponse, BUDGET_MS, outgoing, sendJson } from "../rest/exchange.ts";

/** Routes of webhooks beyond the standard operations. */
export function hookRoutes(triggers: RpcClient<typeof TriggerService>): Router {
  const router = Router({ caseSensitive: true });

  const listTriggers = async (_request: Request, response: ApiResponse) => {
    const listed = await triggers.listTriggers({}, outgoing(response.locals.exchange, BUDGET_MS.read));
    const byName = Object.fromEntries(
      listed.triggers.map(({ name, label, description }) => [name, { label, description }]),
    );
    sendJson(response, 200, JSON.stringify({ triggers: byName }));
  };

  endpoint(router, "/triggers", { GET: listTriggers });
  return router;
}
