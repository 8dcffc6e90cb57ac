import { CompanyMethodService } from "@tidings/proto/tidings/contact/v1/company";
import type { RpcClient } from "@tidings/rpc/client";
import { type Request, Router } from "express";
import { endpoint, needing } from "../rest/endpoint.ts";
import { type ApiResponse, BUDGET_MS, outgoing, requiredId, sendJson } from "../rest/exchange.ts";

/** Routes of companies beyond the standard operations. */
export function companyRoutes(companies: RpcClient<typeof CompanyMethodService>): Router {
  const router = Router({ caseSensitive: true });

  const link = (isAdded: boolean) => async (request: Request, response: ApiResponse) => {
    const id = requiredId(request);
    const contactId = requiredId(request, "contactId");
    const options = outgoing(response.locals.exchange, BUDGET_MS.write);
    if (isAdded) await companies.addCompanyContact({ id, contactId }, options);
    else await companies.removeCompanyContact({ id, contactId }, options);
    sendJson(response, 200, '{"success":true}');
  };

  endpoint(router, "/:id/contact/:contactId/add", {
    POST: needing(CompanyMethodService.method.addCompanyContact, link(true)),
  });
  endpoint(router, "/:id/contact/:contactId/remove", {
    POST: needing(CompanyMethodService.method.removeCompanyContact, link(false)),
  });
  // As older clients call them.
  endpoint(router, "/:id/contact/add/:contactId", {
    POST: needing(CompanyMethodService.method.addCompanyContact, link(true)),
  });
  endpoint(router, "/:id/contact/remove/:contactId", {
    POST: needing(CompanyMethodService.method.removeCompanyContact, link(false)),
  });
  return router;
}
