import { notFound } from "@tidings/rpc/fault";
import { type Request, Router } from "express";
import type { Resource } from "../resources.ts";
import { batchRoutes } from "./batch.ts";
import { endpoint, needing } from "./endpoint.ts";
import { type ApiResponse, BUDGET_MS, bodyObject, outgoing, pathId, sendJson } from "./exchange.ts";
import { idOf } from "./id-of.ts";
import { sendList } from "./list.ts";
import { type ListLimits, readListParameters, selection } from "./list-query.ts";
import { bodyDecoder } from "./message-input.ts";
import { messageWriter, type NestedForm } from "./message-json.ts";
import { tellForeignParameters, tellIgnored, unwrapped } from "./newcomer.ts";
import { skippedFilterNamer } from "./skipped-filters.ts";
import type { Saved, StandardMethods } from "./standard-methods.ts";

export interface ApiLimits extends ListLimits {
  batchMax: number;
}

/** The standard operations of a resource: list, get, new, edit (PUT and PATCH), delete, and their batches. */
export function crudRouter(
  resource: Resource,
  methods: StandardMethods,
  limits: ApiLimits,
  nested: NestedForm,
): Router {
  const router = Router({ caseSensitive: true });
  const decode = bodyDecoder(methods.resource);
  const write = messageWriter(methods.resource, nested);
  const skippedFilters = skippedFilterNamer(methods.resource);
  const minimal = resource.minimal && new Set(resource.minimal);
  const send = (response: ApiResponse, status: number, json: string) =>
    sendJson(response, status, `{"${resource.one}":${json}}`);
  const sendSaved = (response: ApiResponse, { item, created, ignored }: Saved, others: string[]) => {
    tellIgnored(response, [...others, ...ignored, ...skippedFilters(item)]);
    if (created) response.setHeader("location", `/api/${resource.path}/${idOf(item)}`);
    send(response, created ? 201 : 200, write(item));
  };

  const list = async (_request: Request, response: ApiResponse) => {
    const { exchange } = response.locals;
    const parameters = readListParameters(exchange.query, limits);
    tellForeignParameters(response, exchange.query);
    const select = parameters.select ?? (parameters.minimal ? minimal : undefined);
    await sendList(response, resource, methods, parameters.query, (item) => write(item, select));
  };

  const get = async (request: Request, response: ApiResponse) => {
    const { exchange } = response.locals;
    const id = pathId(request);
    if (id === undefined) throw notFound();
    const item = await methods.get(id, outgoing(exchange, BUDGET_MS.read));
    send(response, 200, write(item, selection(exchange.query)));
  };

  const create = async (_request: Request, response: ApiResponse) => {
    const { exchange } = response.locals;
    const { message, ignored } = decode(unwrapped(bodyObject(exchange), resource.one));
    const saved = await methods.create(message, outgoing(exchange, BUDGET_MS.write));
    sendSaved(response, saved, ignored);
  };

  const edit = (isReplaced: boolean) => async (request: Request, response: ApiResponse) => {
    const { exchange } = response.locals;
    const id = pathId(request);
    if (id === undefined && !isReplaced) throw notFound();
    const { message, paths, ignored } = decode(unwrapped(bodyObject(exchange), resource.one));
    const updateMask = { paths: isReplaced ? ["*"] : paths };
    const update = { id: id ?? 0, message, updateMask, allowMissing: isReplaced };
    const saved = await methods.update(update, outgoing(exchange, BUDGET_MS.write));
    sendSaved(response, saved, ignored);
  };

  const remove = async (request: Request, response: ApiResponse) => {
    const id = pathId(request);
    if (id === undefined) throw notFound();
    const item = await methods.delete(id, outgoing(response.locals.exchange, BUDGET_MS.write));
    // A deleted entity has no id any more.
    send(response, 200, write(item).replace(`"id":${id}`, '"id":null'));
  };

  endpoint(router, "/", { GET: list }, { POST: "/new" });
  const { rpc } = methods;
  endpoint(router, "/new", { POST: needing(rpc.create, create) });
  router.use("/batch", batchRoutes(resource, methods, decode, write, limits.batchMax));
  endpoint(router, "/:id", { GET: get }, { PUT: "/:id/edit", PATCH: "/:id/edit", DELETE: "/:id/delete" });
  endpoint(router, "/:id/edit", {
    PATCH: needing(rpc.update, edit(false)),
    PUT: needing(rpc.update, edit(true)),
  });
  endpoint(router, "/:id/delete", { DELETE: needing(rpc.delete, remove) });
  return router;
}
