import { type UserMethodService, UserSchema } from "@tidings/proto/tidings/identity/v1/user";
import type { RpcClient } from "@tidings/rpc/client";
import { badRequest } from "@tidings/rpc/fault";
import { type Request, Router } from "express";
import { endpoint } from "../rest/endpoint.ts";
import {
  type ApiResponse,
  BUDGET_MS,
  bodyObject,
  type Exchange,
  outgoing,
  requiredId,
  sendJson,
} from "../rest/exchange.ts";
import type { ListLimits } from "../rest/list-query.ts";
import { messageWriter } from "../rest/message-json.ts";
import { readNameFilter } from "./name-filter.ts";

const writeUser = messageWriter(UserSchema);
const SELF = new Set(
  `id username firstName lastName email position role timezone locale lastLogin lastActive
  signature`.split(/\s+/),
);

/** Routes of users beyond the standard operations. */
export function userRoutes(users: RpcClient<typeof UserMethodService>, limits: ListLimits): Router {
  const router = Router({ caseSensitive: true });

  const getSelf = async (_request: Request, response: ApiResponse) => {
    const user = await users.getSelf({}, outgoing(response.locals.exchange, BUDGET_MS.read));
    // An API credential that acts for itself is no user: it has no id.
    sendJson(response, 200, writeUser(user, SELF).replace(/^\{"id":0,/, '{"id":null,'));
  };

  const listRoles = async (_request: Request, response: ApiResponse) => {
    const { exchange } = response.locals;
    const filter = readNameFilter(exchange.query, limits);
    const { roles } = await users.listUserRoles(filter, outgoing(exchange, BUDGET_MS.read));
    sendJson(response, 200, JSON.stringify(roles.map(({ id, name }) => ({ id, name }))));
  };

  const checkPermissions = async (request: Request, response: ApiResponse) => {
    const { exchange } = response.locals;
    // Without an id it is the caller, who may be an app.
    const userId = request.params.id === undefined ? (exchange.actor.id ?? 0) : requiredId(request);
    const permissions = readPermissions(bodyObject(exchange).permissions);
    const check = { userId, permissions };
    const { held } = await users.checkPermissions(check, outgoing(exchange, BUDGET_MS.read));
    sendJson(response, 200, JSON.stringify(held));
  };

  /** Oneself, under the name that everybody has for it, or somebody by id. */
  const userIdOf = (request: Request, { actor }: Exchange): number => {
    const id = request.params.id === undefined ? actor.id : requiredId(request);
    if (id === null) throw badRequest("An API credential has no password and no session.");
    return id;
  };

  const changePassword = async (request: Request, response: ApiResponse) => {
    const { exchange } = response.locals;
    const plainPassword = Buffer.from(JSON.stringify(bodyObject(exchange)));
    const change = { id: userIdOf(request, exchange), plainPassword };
    await users.changePassword(change, outgoing(exchange, BUDGET_MS.write));
    sendJson(response, 200, '{"success":true}');
  };

  const endSessions = async (request: Request, response: ApiResponse) => {
    const { exchange } = response.locals;
    const id = userIdOf(request, exchange);
    const { sessions, grants } = await users.endSessions({ id }, outgoing(exchange, BUDGET_MS.write));
    sendJson(response, 200, JSON.stringify({ success: true, sessions, grants }));
  };

  endpoint(router, "/self", { GET: getSelf });
  endpoint(router, "/self/password", { POST: changePassword });
  endpoint(router, "/self/sessions", { DELETE: endSessions });
  endpoint(router, "/:id/password", { POST: changePassword });
  endpoint(router, "/:id/sessions", { DELETE: endSessions });
  endpoint(router, "/list/roles", { GET: listRoles });
  endpoint(router, "/self/permissioncheck", { POST: checkPermissions });
  endpoint(router, "/:id/permissioncheck", { POST: checkPermissions });
  return router;
}

/** One permission or several. */
function readPermissions(value: unknown): string[] {
  if (value === undefined || value === null || value === "") return [];
  const permissions = typeof value === "object" ? Object.values(value) : [value];
  if (permissions.some((permission) => typeof permission !== "string"))
    throw badRequest("Permissions must be text.");
  return permissions;
}
