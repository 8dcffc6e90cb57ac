import { PointActionMethodService } from "@tidings/proto/tidings/campaign/v1/point_action";
import {
  PointTriggerMethodService,
  PointTriggerSchema,
} from "@tidings/proto/tidings/campaign/v1/point_trigger";
import type { PointType } from "@tidings/proto/tidings/campaign/v1/point_type";
import { badRequest } from "@tidings/rpc/fault";
import { type Request, Router } from "express";
import type { Clients } from "../clients.ts";
import { endpoint } from "../rest/endpoint.ts";
import { type ApiResponse, BUDGET_MS, outgoing, requiredId, sendJson } from "../rest/exchange.ts";
import { messageWriter } from "../rest/message-json.ts";
import type { Query } from "../rest/query.ts";

const writeTrigger = messageWriter(PointTriggerSchema);
const MEMBERS = new Set(PointTriggerSchema.fields.map(({ jsonName }) => jsonName));

/** What point actions and triggers have beyond the standard operations. */
export function pointRoutes(clients: Clients, idsMax: number): Router {
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
    const removal = { id: requiredId(request), eventIds: eventIds(exchange.query, idsMax) };
    const trigger = await triggers.deletePointTriggerEvents(removal, outgoing(exchange, BUDGET_MS.write));
    sendJson(response, 200, `{"trigger":${writeTrigger(trigger, MEMBERS)}}`);
  };

  endpoint(router, "/actions/types", { GET: listActionTypes });
  endpoint(router, "/triggers/events/types", { GET: listEventTypes });
  endpoint(router, "/triggers/:id/events/delete", { DELETE: deleteEvents });
  return router;
}

function labelsOf(types: PointType[]): Record<string, string> {
  return Object.fromEntries(types.map(({ name, label }) => [name, label]));
}

/** `events[]=1&events[]=2`; what is no id is none of theirs. */
function eventIds({ events = [] }: Query, idsMax: number): number[] {
  const sent = typeof events === "object" && events !== null ? Object.values(events) : [events];
  if (sent.length > idsMax) throw badRequest(`A max of ${idsMax} entities are supported at a time.`);
  return sent
    .filter((id) => typeof id === "string" && /^[1-9]\d{0,9}$/.test(id) && Number(id) < 2 ** 31)
    .map(Number);
}
