import { FocusMethodService } from "@tidings/proto/tidings/content/v1/focus_item";
import type { RpcClient } from "@tidings/rpc/client";
import { type Request, Router } from "express";
import { endpoint, needing } from "../rest/endpoint.ts";
import { type ApiResponse, BUDGET_MS, outgoing, requiredId, sendJson } from "../rest/exchange.ts";

/** Routes of focus items beyond the standard operations: how they are shown. */
export function focusRoutes(items: RpcClient<typeof FocusMethodService>): Router {
  const router = Router({ caseSensitive: true });

  const render = async (request: Request, response: ApiResponse) => {
    const options = outgoing(response.locals.exchange, BUDGET_MS.read);
    const { script } = await items.renderFocusItem({ id: requiredId(request) }, options);
    sendJson(response, 200, JSON.stringify({ js: script }));
  };

  endpoint(router, "/:id/js", { POST: needing(FocusMethodService.method.renderFocusItem, render) });
  return router;
}
