import type { ContactService } from "@tidings/proto/tidings/contact/v1/contact";
import type { RpcClient } from "@tidings/rpc/client";
import { badRequest, notFound } from "@tidings/rpc/fault";
import { type Request, Router } from "express";
import { endpoint } from "../rest/endpoint.ts";
import { type ApiResponse, BUDGET_MS, bodyObject, outgoing, pathId, sendJson } from "../rest/exchange.ts";

/** What contacts have beyond the standard operations. */
export function contactRoutes(contacts: RpcClient<typeof ContactService>): Router {
  const router = Router({ caseSensitive: true });

  const listFields = async (_request: Request, response: ApiResponse) => {
    const { fields } = await contacts.listContactFields(
      {},
      outgoing(response.locals.exchange, BUDGET_MS.read),
    );
    sendJson(response, 200, Buffer.from(fields).toString());
  };

  const changePoints = async (request: Request, response: ApiResponse) => {
    const { exchange } = response.locals;
    const id = pathId(request);
    if (id === undefined) throw notFound();
    const { operator, delta } = request.params;
    const { eventName, eventname = eventName, actionName, actionname = actionName } = bodyObject(exchange);
    const change = {
      id,
      operator: String(operator),
      delta: pointsOf(String(delta)),
      eventName: labelOf(eventname),
      actionName: labelOf(actionname),
    };
    await contacts.changeContactPoints(change, outgoing(exchange, BUDGET_MS.write));
    sendJson(response, 200, '{"success":true}');
  };

  endpoint(router, "/list/fields", { GET: listFields });
  endpoint(router, "/:id/points/:operator/:delta", { POST: changePoints });
  return router;
}

function pointsOf(text: string): number {
  if (!/^\d{1,10}$/.test(text) || Number(text) >= 2 ** 31)
    throw badRequest("The points must be a whole number.");
  return Number(text);
}

function labelOf(value: unknown): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "object") throw badRequest("eventName and actionName must be text.");
  return String(value);
}
