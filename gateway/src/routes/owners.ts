import type { UserMethodService } from "@tidings/proto/tidings/identity/v1/user";
import type { RpcClient } from "@tidings/rpc/client";
import { type Request, Router } from "express";
import { endpoint } from "../rest/endpoint.ts";
import { type ApiResponse, BUDGET_MS, outgoing, sendJson } from "../rest/exchange.ts";
import type { ListLimits } from "../rest/list-query.ts";
import { readNameFilter } from "./name-filter.ts";

/** The users that contacts can belong to. */
export function ownerRoutes(users: RpcClient<typeof UserMethodService>, limits: ListLimits): Router {
  const router = Router({ caseSensitive: true });

  const listOwners = async (_request: Request, response: ApiResponse) => {
    const { exchange } = response.locals;
    const filter = readNameFilter(exchange.query, limits);
    const { owners } = await users.listOwners(filter, outgoing(exchange, BUDGET_MS.read));
    const items = owners.map(({ id, firstName, lastName }) => ({ id, firstName, lastName }));
    sendJson(response, 200, JSON.stringify(items));
  };

  endpoint(router, "/list/owners", { GET: listOwners });
  return router;
}
