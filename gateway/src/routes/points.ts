import { PointActionMethodService } from "@tidings/proto/tidings/campaign/v1/point_action";
import {
  PointTriggerMethodService,
  PointTriggerSchema,
} from "@tidings/proto/tidings/campaign/v1/point_trigger";
import type { PointType } from "@tidings/proto/tidings/campaign/v1/point_type";
import { type Request, Router } from "express";
import type { Clients } from "../clients.ts";
import { endpoint, needing } from "../rest/endpoint.ts";
import { type ApiResponse, BUDGET_MS, outgoing, requiredId, sendJson } from "../rest/exchange.ts";
import { idsInQuery } from "../rest/ids-in-query.ts";
import { type NestedForm, presentWriter } from "../rest/message-json.ts";

/** Members that are null are left out of the answer to a removal. */

/** Routes of point actions and triggers beyond the standard operations. */
export function pointRoutes(clients: Clients, nested: NestedForm): Router {
  const writeTrigger = presentWriter(PointTriggerSchema, nested);
  const actions = clients.of(PointActionMethodService);
  const triggers = clients.of(PointTriggerMethodService);
  const router = Router({ caseSensitive: true });

  const listActionTypes = async (_request: Request, response: ApiResponse) => {
    const options = outgoing(response.locals.exchange, BUDGET_MS.read);
    const { types } = await actions.listPointActionTypes({}, options);
    sendJson(response, 200, JSON.stringify({ pointActionTypes: labelsOf(types) }));
  };

  const listEventTypes = async (_request: Request, response: ApiResponse) => {
    const options = outgoing(response.locals.exchange, BUDGET_MS.read);
    const { types } = await triggers.listPointTriggerEventTypes({}, options);
    sendJson(response, 200, JSON.stringify({ eventTypes: labelsOf(types) }));
  };

  const deleteEvents = async (request: Request, response: ApiResponse) => {
    const { exchange } = response.locals;
    const removal = { id: requiredId(request), eventIds: idsInQuery(exchange.query, "events") };
    const trigger = await triggers.deletePointTriggerEvents(removal, outgoing(exchange, BUDGET_MS.write));
    sendJson(response, 200, `{"trigger":${writeTrigger(trigger)}}`);
  };

  endpoint(router, "/actions/types", { GET: listActionTypes });
  endpoint(router, "/triggers/events/types", { GET: listEventTypes });
  endpoint(router, "/triggers/:id/events/delete", {
    DELETE: needing(PointTriggerMethodService.method.deletePointTriggerEvents, deleteEvents),
  });
  return router;
}

function labelsOf(types: PointType[]): Record<string, string> {
  return Object.fromEntries(types.map(({ name, label }) => [name, label]));
}
