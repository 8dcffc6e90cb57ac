import type { DescMessage, DescMethod, Message } from "@bufbuild/protobuf";
import { ReferenceSchema } from "@tidings/proto/tidings/type/v1/reference";
import { standardOf } from "@tidings/rpc/standard";
import type { Resource } from "../resources.ts";
import { type ApiResponse, bodyObject, sendEntity, sendJson, showModified } from "../rest/exchange.ts";
import { idOf } from "../rest/id-of.ts";
import { type ListLimits, selection } from "../rest/list-query.ts";
import { type BodyDecoder, bodyDecoder } from "../rest/message-input.ts";
import { type MessageWriter, messageWriter, type NestedForm } from "../rest/message-json.ts";
import { tellForeignParameters, tellIgnored, unwrapped } from "../rest/newcomer.ts";
import { pathId } from "../rest/path-id.ts";
import { skippedFilterNamer } from "../rest/skipped-filters.ts";
import type { Saved, StandardMethods } from "../rest/standard-methods.ts";
import { type Answer, listAnswer, listQuery } from "./answer.ts";
import { batchRoutes } from "./batch-routes.ts";
import { type BodyForm, objectBody } from "./body-form.ts";
import { entityId, type PathParameter } from "./parameter.ts";
import { type QueryForm, SELECT } from "./query-form.ts";
import { type Route, route } from "./route.ts";
import { closed } from "./schema.ts";

export interface ApiLimits extends ListLimits {
  batchMax: number;
}

const SELECTION: QueryForm<ReadonlySet<string> | undefined> = { parameters: [SELECT], read: selection };

/** The paths of the standard operations, below that of their resource. */
export const STANDARD_PATHS = [
  "",
  "/new",
  "/:id",
  "/:id/edit",
  "/:id/delete",
  "/batch/new",
  "/batch/edit",
  "/batch/delete",
];

/** A resource with its readers and writers, from which its routes are made. */
interface Parts {
  resource: Resource;
  methods: StandardMethods;
  at: string;
  nameOf(rpc: DescMethod): string;
  decode: BodyDecoder;
  write: MessageWriter;
  /** One entity, written already. */
  written: Answer<string>;
  saved: Answer<SavedItem>;
  body: BodyForm<Record<string, unknown>>;
}

/** The standard operations of a resource: list, get, new, edit (PUT and PATCH), delete, and their batches. */
export function standardRoutes(
  resource: Resource,
  methods: StandardMethods,
  limits: ApiLimits,
  nested: NestedForm,
): Route[] {
  const parts = partsOf(resource, methods, nested);
  const { decode, write, nameOf } = parts;
  return [
    ...readRoutes(parts, limits),
    createRoute(parts),
    ...batchRoutes({ resource, methods, decode, write, itemsMax: limits.batchMax, nameOf }),
    ...editRoutes(parts),
    deleteRoute(parts),
  ];
}

function partsOf(resource: Resource, methods: StandardMethods, nested: NestedForm): Parts {
  const { one } = resource;
  return {
    resource,
    methods,
    at: `/${resource.path}`,
    nameOf: operationNamer(resource),
    decode: bodyDecoder(methods.resource),
    write: messageWriter(methods.resource, nested),
    written: {
      statuses: [200],
      describe: (components) => closed({ [one]: components.answered(methods.resource) }),
      headers: ["ETag", "Last-Modified"],
      send: (response, json) => sendEntity(response, 200, `{"${one}":${json}}`),
    },
    saved: savedAnswer(resource, methods, nested),
    body: {
      ...objectBody({}),
      describe: (components) => ({ ...components.sent(methods.resource), examples: [resource.example] }),
      read: (exchange) => unwrapped(bodyObject(exchange), one),
    },
  };
}

function readRoutes({ resource, methods, at, nameOf, write, written }: Parts, limits: ApiLimits): Route[] {
  const { path } = resource;
  const { rpc } = methods;
  const minimal = resource.minimal && new Set(resource.minimal);
  return [
    route({
      method: "GET",
      path: at,
      summary: `List ${path}`,
      rpc: rpc.list,
      operation: nameOf(rpc.list),
      query: listQuery(limits),
      answer: listAnswer(resource, methods.resource, { write, headers: ["Tidings-Ignored"] }),
      elsewhere: { POST: `${at}/new` },
      handle({ query, exchange, response }) {
        tellForeignParameters(response, exchange.query);
        const select = query.select ?? (query.minimal ? minimal : undefined);
        return { parameters: { ...query, select }, list: methods.list };
      },
    }),
    route({
      method: "GET",
      path: `${at}/:id`,
      summary: `Get one of ${path}`,
      rpc: rpc.get,
      operation: nameOf(rpc.get),
      parameters: { id: entityId(path, "view") },
      query: SELECTION,
      answer: written,
      elsewhere: { PUT: `${at}/:id/edit`, PATCH: `${at}/:id/edit`, DELETE: `${at}/:id/delete` },
      async handle({ parameters: { id }, query: select, options, response }) {
        const item = await methods.get(id, options);
        showModified(response, item);
        return write(item, select);
      },
    }),
  ];
}

function createRoute({ resource, methods, at, nameOf, decode, saved, body }: Parts): Route {
  const { rpc } = methods;
  return route({
    method: "POST",
    path: `${at}/new`,
    summary: `Create one of ${resource.path}`,
    rpc: rpc.create,
    operation: nameOf(rpc.create),
    body,
    answer: resource.mayBeThere ? saved : { ...saved, statuses: [201] },
    errors: namesItems(methods.resource) ? [404] : [],
    async handle({ body, options }) {
      const { message, ignored } = decode(body);
      return { saved: await methods.create(message, options), ignored };
    },
  });
}

/** Has an entity items with ids? A body may name one that is not there. */
function namesItems({ fields }: DescMessage): boolean {
  return fields.some(
    ({ fieldKind, message }) =>
      fieldKind === "list" &&
      message !== ReferenceSchema &&
      message?.fields.some(({ name }) => name === "id"),
  );
}

function editRoutes({ resource, methods, at, nameOf, decode, saved, body }: Parts): Route[] {
  const { path } = resource;
  const { rpc } = methods;
  return [
    route({
      method: "PATCH",
      path: `${at}/:id/edit`,
      summary: `Change what is sent of one of ${path}`,
      rpc: rpc.update,
      operation: nameOf(rpc.update),
      parameters: { id: entityId(path, "edit") },
      body,
      answer: { ...saved, statuses: [200] },
      async handle({ parameters: { id }, body, options }) {
        const { message, paths, ignored } = decode(body);
        const update = { id, message, updateMask: { paths }, allowMissing: false };
        return { saved: await methods.update(update, options), ignored };
      },
    }),
    route({
      method: "PUT",
      path: `${at}/:id/edit`,
      summary: `Replace one of ${path}, or create it`,
      rpc: rpc.update,
      operation: nameOf(rpc.update).replace("update", "replace"),
      parameters: { id: anyId(resource) },
      body,
      answer: { ...saved, statuses: [200, 201] },
      async handle({ parameters: { id }, body, options }) {
        const { message, ignored } = decode(body);
        const update = { id, message, updateMask: { paths: ["*"] }, allowMissing: true };
        return { saved: await methods.update(update, options), ignored };
      },
    }),
  ];
}

function deleteRoute({ resource, methods, at, nameOf, write, written }: Parts): Route {
  const { rpc } = methods;
  const answer: Answer<string> = {
    ...written,
    headers: [],
    send: (response, json) => sendJson(response, 200, json),
  };
  return route({
    method: "DELETE",
    path: `${at}/:id/delete`,
    summary: `Delete one of ${resource.path}`,
    rpc: rpc.delete,
    operation: nameOf(rpc.delete),
    parameters: { id: entityId(resource.path, "delete") },
    errors: resource.deletionErrors ?? [],
    answer,
    // A deleted entity has no id any more.
    async handle({ parameters: { id }, options }) {
      const json = write(await methods.delete(id, options)).replace(`"id":${id}`, '"id":null');
      return `{"${resource.one}":${json}}`;
    },
  });
}

/** Operations are called as their RPCs are; of two services of one message (fields) each has names of its own. */
function operationNamer({ service }: Resource): (rpc: DescMethod) => string {
  const { resource } = standardOf(service);
  const own = service.name.replace(/Service$/, "");
  return ({ localName }) => localName.replace(resource.name, own);
}

/** An id that no row can have makes a new one: 0 stands for it. */
function anyId({ path }: Resource): PathParameter<number> {
  const schema = { type: "integer", minimum: 0 };
  return { ...entityId(path, "edit"), schema, read: (text) => pathId(text) ?? 0 };
}

interface SavedItem {
  saved: Saved;
  /** Members of the body that mean nothing here. */
  ignored: string[];
}

/** 201 with its `Location` when it was made, else 200. */
function savedAnswer(resource: Resource, methods: StandardMethods, nested: NestedForm): Answer<SavedItem> {
  const write: (item: Message) => string = messageWriter(methods.resource, nested);
  const skippedFilters = skippedFilterNamer(methods.resource);
  return {
    statuses: [201, 200],
    describe: (components) => closed({ [resource.one]: components.answered(methods.resource) }),
    headers: ["ETag", "Last-Modified", "Location", "Tidings-Ignored"],
    send(response: ApiResponse, { saved: { item, created, ignored }, ignored: others }) {
      tellIgnored(response, [...others, ...ignored, ...skippedFilters(item)]);
      if (created) response.setHeader("location", `/api/${resource.path}/${idOf(item)}`);
      showModified(response, item);
      sendEntity(response, created ? 201 : 200, `{"${resource.one}":${write(item)}}`);
    },
  };
}
