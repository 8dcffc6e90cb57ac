import { StageService } from "@tidings/proto/tidings/campaign/v1/stage_service";
import type { ContactMethodService } from "@tidings/proto/tidings/contact/v1/contact";
import type { RpcClient } from "@tidings/rpc/client";
import { type Request, Router } from "express";
import { endpoint, needing } from "../rest/endpoint.ts";
import { type ApiResponse, BUDGET_MS, outgoing, requiredId, sendJson } from "../rest/exchange.ts";

/** Routes of stages beyond the standard operations. */
export function stageRoutes(
  stages: RpcClient<typeof StageService>,
  contacts: RpcClient<typeof ContactMethodService>,
): Router {
  const router = Router({ caseSensitive: true });

  const move = (isAdded: boolean) => async (request: Request, response: ApiResponse) => {
    const stageId = requiredId(request);
    const id = requiredId(request, "contactId", "Contact not found.");
    const options = outgoing(response.locals.exchange, BUDGET_MS.write);
    await stages.getStage({ id: stageId }, options);
    await contacts.setContactStage({ id, stageId, isRemoved: !isAdded }, options);
    sendJson(response, 200, '{"success":true}');
  };

  endpoint(router, "/:id/contact/:contactId/add", {
    POST: needing(StageService.method.getStage, move(true)),
  });
  endpoint(router, "/:id/contact/:contactId/remove", {
    POST: needing(StageService.method.getStage, move(false)),
  });
  // As older clients call them.
  endpoint(router, "/:id/contact/add/:contactId", {
    POST: needing(StageService.method.getStage, move(true)),
  });
  endpoint(router, "/:id/contact/remove/:contactId", {
    POST: needing(StageService.method.getStage, move(false)),
  });
  return router;
}
