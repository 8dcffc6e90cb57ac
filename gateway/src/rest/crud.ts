import type { Message } from "@bufbuild/protobuf";
import { notFound } from "@tidings/rpc/fault";
import { type Request, Router } from "express";
import type { Resource } from "../resources.ts";
import { batchRoutes } from "./batch.ts";
import { methodNotAllowed } from "./error.ts";
import { type ApiResponse, BUDGET_MS, bodyObject, outgoing, pathId, sendJson } from "./exchange.ts";
import { sendList } from "./list.ts";
import { type ListLimits, readListParameters, selection } from "./list-query.ts";
import { bodyDecoder } from "./message-input.ts";
import { messageWriter } from "./message-json.ts";
import type { StandardMethods } from "./standard-methods.ts";

export interface ApiLimits extends ListLimits {
  batchMax: number;
}

/** The standard operations of a resource: list, get, new, edit (PUT and PATCH), delete, and their batches. */
export function crudRouter(resource: Resource, methods: StandardMethods, limits: ApiLimits): Router {
  const router = Router({ caseSensitive: true });
  const decode = bodyDecoder(methods.resource);
  const write = messageWriter(methods.resource);
  const minimal = resource.minimal && new Set(resource.minimal);
  const send = (response: ApiResponse, status: number, json: string) =>
    sendJson(response, status, `{"${resource.one}":${json}}`);
  const sendSaved = (response: ApiResponse, item: Message, created: boolean) => {
    if (created) response.setHeader("location", `/api/${resource.path}/${idOf(item)}`);
    send(response, created ? 201 : 200, write(item));
  };

  const list = async (_request: Request, response: ApiResponse) => {
    const { exchange } = response.locals;
    const parameters = readListParameters(exchange.query, limits);
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
    const { message } = decode(bodyObject(exchange));
    const { item, created } = await methods.create(message, outgoing(exchange, BUDGET_MS.write));
    sendSaved(response, item, created);
  };

  const edit = (isReplaced: boolean) => async (request: Request, response: ApiResponse) => {
    const { exchange } = response.locals;
    const id = pathId(request);
    if (id === undefined && !isReplaced) throw notFound();
    const { message, paths } = decode(bodyObject(exchange));
    const updateMask = { paths: isReplaced ? ["*"] : paths };
    const update = { id: id ?? 0, message, updateMask, allowMissing: isReplaced };
    const { item, created } = await methods.update(update, outgoing(exchange, BUDGET_MS.write));
    sendSaved(response, item, created);
  };

  const remove = async (request: Request, response: ApiResponse) => {
    const id = pathId(request);
    if (id === undefined) throw notFound();
    const item = await methods.delete(id, outgoing(response.locals.exchange, BUDGET_MS.write));
    // What is gone has no id any more.
    send(response, 200, write(item).replace(`"id":${id}`, '"id":null'));
  };

  router.route("/").get(list).all(refuse("GET"));
  router.route("/new").post(create).all(refuse("POST"));
  router.use("/batch", batchRoutes(resource, methods, decode, write, limits.batchMax));
  router
    .route("/:id")
    .get(whenNumber(get))
    .all(whenNumber(refuse("GET")));
  router
    .route("/:id/edit")
    .patch(whenNumber(edit(false)))
    .put(whenNumber(edit(true)))
    .all(whenNumber(refuse("PATCH, PUT")));
  router
    .route("/:id/delete")
    .delete(whenNumber(remove))
    .all(whenNumber(refuse("DELETE")));
  return router;
}

type Step = (request: Request, response: ApiResponse) => Promise<void> | void;

/** Ids are digits: anything else is another path. */
export function whenNumber(step: Step) {
  return (request: Request, response: ApiResponse, next: (what?: unknown) => void) => {
    return /^\d+$/.test(String(request.params.id)) ? step(request, response) : next("route");
  };
}

/** For the methods a known path does not have. */
export function refuse(allowed: string): Step {
  return (_request, response) => {
    response.setHeader("allow", allowed);
    throw methodNotAllowed();
  };
}

export function idOf(message: Message): number {
  return (message as Message & { id: number }).id;
}
