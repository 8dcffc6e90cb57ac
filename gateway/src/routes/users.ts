import { UserSchema, type UserService } from "@tidings/proto/tidings/identity/v1/user";
import type { RpcClient } from "@tidings/rpc/client";
import { badRequest } from "@tidings/rpc/fault";
import { type Request, Router } from "express";
import { endpoint } from "../rest/endpoint.ts";
import { type ApiResponse, BUDGET_MS, bodyObject, outgoing, requiredId, sendJson } from "../rest/exchange.ts";
import type { ListLimits } from "../rest/list-query.ts";
import { messageWriter } from "../rest/message-json.ts";
import { readNameFilter } from "./name-filter.ts";

const writeUser = messageWriter(UserSchema);
const SELF = new Set(
  `id username firstName lastName email position role timezone locale lastLogin lastActive
  signature`.split(/\s+/),
);

/** What users have beyond the standard operations. */
export function userRoutes(users: RpcClient<typeof UserService>, limits: ListLimits): Router {
  const router = Router({ caseSensitive: true });

  const getSelf = async (_request: Request, response: ApiResponse) => {
    const user = await users.getSelf({}, outgoing(response.locals.exchange, BUDGET_MS.read));
    sendJson(response, 200, writeUser(user, SELF));
  };

  const listRoles = async (_request: Request, response: ApiResponse) => {
    const { exchange } = response.locals;
    const filter = readNameFilter(exchange.query, limits);
    const { roles } = await users.listUserRoles(filter, outgoing(exchange, BUDGET_MS.read));
    sendJson(response, 200, JSON.stringify(roles.map(({ id, name }) => ({ id, name }))));
  };

  const checkPermissions = async (request: Request, response: ApiResponse) => {
    const { exchange } = response.locals;
    const userId = requiredId(request);
    const permissions = readPermissions(bodyObject(exchange).permissions);
    const check = { userId, permissions };
    const { held } = await users.checkPermissions(check, outgoing(exchange, BUDGET_MS.read));
    sendJson(response, 200, JSON.stringify(held));
  };

  endpoint(router, "/self", { GET: getSelf });
  endpoint(router, "/list/roles", { GET: listRoles });
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
