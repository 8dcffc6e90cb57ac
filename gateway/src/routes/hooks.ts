import type { WebhookService } from "@tidings/proto/tidings/webhook/v1/webhook";
import type { RpcClient } from "@tidings/rpc/client";
import { type Request, Router } from "express";
import { endpoint } from "../rest/endpoint.ts";
import { type ApiResponse, BUDGET_MS, outgoing, sendJson } from "../rest/exchange.ts";

/** What webhooks have beyond the standard operations. */
export function hookRoutes(webhooks: RpcClient<typeof WebhookService>): Router {
  const router = Router({ caseSensitive: true });

  const listTriggers = async (_request: Request, response: ApiResponse) => {
    const { triggers } = await webhooks.listTriggers({}, outgoing(response.locals.exchange, BUDGET_MS.read));
    const byName = Object.fromEntries(
      triggers.map(({ name, label, description }) => [name, { label, description }]),
    );
    sendJson(response, 200, JSON.stringify({ triggers: byName }));
  };

  endpoint(router, "/triggers", { GET: listTriggers });
  return router;
}
