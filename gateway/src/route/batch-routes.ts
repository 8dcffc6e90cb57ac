import type { DescMethod, Message } from "@bufbuild/protobuf";
import { badRequest, Fault, notFound } from "@tidings/rpc/fault";
import { statusToFault } from "@tidings/rpc/fault-status";
import { longWork } from "@tidings/runtime/long-work";
import type { Resource } from "../resources.ts";
import { expectedItems } from "../rest/entity-tag.ts";
import { errorEntry } from "../rest/error.ts";
import { sendJson } from "../rest/exchange.ts";
import type { Body, BodyDecoder } from "../rest/message-input.ts";
import type { MessageWriter } from "../rest/message-json.ts";
import { itemId } from "../rest/path-id.ts";
import type { BatchAnswer, StandardMethods, UpdateItem } from "../rest/standard-methods.ts";
import type { Answer } from "./answer.ts";
import { batchItems, deletedId, deletedItems } from "./batch-items.ts";
import { batchBody } from "./body-form.ts";
import type { QueryForm } from "./query-form.ts";
import { type Route, route } from "./route.ts";
import {
  arrayOf,
  byId,
  type Components,
  closed,
  type Schema,
  TEXT,
  TEXT_OR_NULL,
  WHOLE_NUMBER,
} from "./schema.ts";

const ITEM_ID: Schema = { type: ["integer", "string"] };
/** The members of an item of an edit beside those of its entity. */
const NAMED: Schema = {
  type: "object",
  properties: {
    id: ITEM_ID,
    "If-Match": {
      type: "string",
      description: "As the header: the tags that the entity of this item may have",
    },
  },
};
/** An item of a batch of deletions: an id, or an object with one. */
const DELETED: Schema = { ...NAMED, type: ["integer", "string", "object"] };

/** The result of the item at one position of the request. */
type Result = { item: Message; status: number } | { fault: Fault };

/** The batches of one resource. */
interface Batch {
  resource: Resource;
  methods: StandardMethods;
  decode: BodyDecoder;
  write: MessageWriter;
  itemsMax: number;
  nameOf(rpc: DescMethod): string;
}

/** Batches: every item succeeds or fails for itself, and is named by its place in the request. */
export function batchRoutes(batch: Batch): Route[] {
  const { resource, methods, decode, itemsMax, nameOf } = batch;
  const at = `/${resource.path}/batch`;
  const { rpc } = methods;
  const ids = {
    ...batchBody((components) => ({
      ...components.named("BatchDeletion", { anyOf: deletedForms(itemsMax) }),
      examples: [[1, 2]],
    })),
    isOptional: true as const,
  };
  return [
    route({
      method: "POST",
      path: `${at}/new`,
      summary: `Create several of ${resource.path}`,
      rpc: rpc.batchCreate,
      operation: nameOf(rpc.batchCreate),
      budget: "batch",
      body: itemsBody(batch, (item) => item, resource.example),
      answer: resultsAnswer(batch, 201, true),
      handle: ({ body, options }) =>
        eachDecoded(
          batchItems(body, itemsMax),
          (item) => decode(item).message,
          (messages) => methods.batchCreate(messages, options),
        ),
    }),
    editRoute(batch, "PATCH"),
    editRoute(batch, "PUT"),
    route({
      method: "DELETE",
      path: `${at}/delete`,
      summary: `Delete several of ${resource.path}`,
      rpc: rpc.batchDelete,
      operation: nameOf(rpc.batchDelete),
      budget: "batch",
      query: IDS,
      body: ids,
      answer: resultsAnswer(batch, 200, false),
      async handle({ exchange, options }) {
        const items = deletedItems(exchange, itemsMax);
        const expected = expectedItems(methods.resource.typeName, items);
        return resultsOf(await methods.batchDelete(items.map(deletedId), { ...options, expected }));
      },
    }),
  ];
}

/** A PATCH changes the entities that it names; a PUT replaces them, and makes those that are not there. */
function editRoute(batch: Batch, method: "PATCH" | "PUT"): Route {
  const { resource, methods, decode, itemsMax, nameOf } = batch;
  const { rpc } = methods;
  const isReplaced = method === "PUT";
  const toUpdate = (body: Body): UpdateItem => {
    const id = itemId(body.id);
    if (id === undefined && !isReplaced) throw notFound();
    const { message, paths } = decode(withoutCondition(body));
    const updateMask = { paths: isReplaced ? ["*"] : paths };
    return { id: id ?? 0, message, updateMask, allowMissing: isReplaced };
  };
  return route({
    method,
    path: `/${resource.path}/batch/edit`,
    summary: isReplaced
      ? `Replace several of ${resource.path}, or create them`
      : `Change several of ${resource.path}`,
    rpc: rpc.batchUpdate,
    operation: nameOf(rpc.batchUpdate).replace("Update", isReplaced ? "Replace" : "Update"),
    budget: "batch",
    body: itemsBody(batch, (item, components) => ({ allOf: [item, components.named("BatchItem", NAMED)] }), {
      id: 1,
      ...resource.example,
    }),
    answer: resultsAnswer(batch, 200, true),
    handle({ body, options }) {
      const bodies = batchItems(body, itemsMax);
      const expected = expectedItems(methods.resource.typeName, bodies);
      const send = (updates: UpdateItem[]) => methods.batchUpdate(updates, { ...options, expected });
      return eachDecoded(bodies, toUpdate, send);
    },
  });
}

function itemsBody(
  { methods, itemsMax }: Batch,
  describe: (item: Schema, components: Components) => Schema,
  example: object,
) {
  return batchBody((components) => ({
    type: "array",
    description: "An object with a member for each item, named by its number, is read as the same",
    maxItems: itemsMax,
    items: describe(components.sent(methods.resource), components),
    examples: [[example]],
  }));
}

function resultsAnswer(
  { resource, methods, write }: Batch,
  status: number,
  hasStatusCodes: boolean,
): Answer<Result[]> {
  return {
    statuses: [status],
    describe: (components) => describeBatch(resource, methods, components, hasStatusCodes),
    send: (response, results) =>
      sendJson(response, status, batchJson(resource, results, write, hasStatusCodes)),
  };
}

/** A list of items, or an object with a member for each that is named by its number; as the body or as its member `ids`. */
function deletedForms(itemsMax: number): Schema[] {
  const items: Schema = { type: "array", maxItems: itemsMax, items: DELETED };
  const ids: Schema = {
    ...items,
    type: ["array", "string", "object"],
    description: "A list, ids separated by commas, or an object",
    additionalProperties: DELETED,
  };
  return [items, { type: "object", properties: { ids }, additionalProperties: DELETED }];
}

const IDS: QueryForm<undefined> = {
  parameters: [
    {
      name: "ids",
      description:
        "Ids, separated by commas; or parameters whose names are numbers, `0=1&1=2`; or a list of them as the body",
      schema: { type: "string" },
    },
  ],
  read: () => undefined,
};

/** The condition of an item is none of its members. */
function withoutCondition(body: Body): Body {
  if (!Object.hasOwn(body, "If-Match")) return body;
  const { "If-Match": _condition, ...members } = body;
  return members;
}

/** Sends the items that can be read and puts the answers back in their places between those that cannot. */
async function eachDecoded<T>(
  bodies: unknown[],
  decode: (body: Body) => T,
  send: (items: T[]) => Promise<BatchAnswer>,
): Promise<Result[]> {
  const decoded: ({ item: T } | { fault: Fault })[] = [];
  const work = longWork();
  for (const body of bodies) {
    decoded.push(decodeItem(body, decode));
    await work.pause();
  }
  const items = decoded.flatMap((entry) => ("item" in entry ? [entry.item] : []));
  const results = items.length > 0 ? resultsOf(await send(items)).values() : [].values();
  return decoded.map((entry) => ("fault" in entry ? entry : (results.next().value as Result)));
}

function decodeItem<T>(body: unknown, decode: (body: Body) => T): { item: T } | { fault: Fault } {
  try {
    if (typeof body !== "object" || body === null || Array.isArray(body))
      throw badRequest("The item must be an object.");
    return { item: decode(body as Body) };
  } catch (error) {
    if (error instanceof Fault) return { fault: error };
    throw error;
  }
}

function resultsOf({ items, statuses }: BatchAnswer): Result[] {
  return statuses.map(({ error, created }, index) => {
    if (error) return { fault: statusToFault(error) };
    return { item: items[index] as Message, status: created ? 201 : 200 };
  });
}

/** `{"contacts": […], "statusCodes": […], "errors": {…}}`; each is a list, or an object once it has gaps. */
function batchJson(
  resource: Resource,
  results: Result[],
  write: MessageWriter,
  hasStatusCodes: boolean,
): string {
  const items = new Map<number, string>();
  const errors = new Map<number, string>();
  const codes: number[] = [];
  results.forEach((result, index) => {
    if ("item" in result) {
      items.set(index, write(result.item));
      codes.push(result.status);
      return;
    }
    const { code, message, details } = errorEntry(result.fault);
    // An item that is missing or forbidden has another form than one with bad fields; clients know both.
    const entry =
      code === 400 || code === 422 ? { code, message, details, type: null } : { message, code, type: "api" };
    errors.set(index, JSON.stringify(entry));
    codes.push(code);
  });
  const members = [`"${resource.many}":${listOrObject(items)}`];
  if (hasStatusCodes) members.push(`"statusCodes":${JSON.stringify(codes)}`);
  if (errors.size > 0) members.push(`"errors":${listOrObject(errors)}`);
  return `{${members.join(",")}}`;
}

function describeBatch(
  { many }: Resource,
  { resource }: StandardMethods,
  components: Components,
  hasStatusCodes: boolean,
): Schema {
  const members: Record<string, Schema> = {
    [many]: listOrObjectOf(components.answered(resource)),
    errors: listOrObjectOf(batchError(components)),
  };
  if (hasStatusCodes) members.statusCodes = arrayOf(WHOLE_NUMBER);
  return closed(members, ["errors"]);
}

/** A list, or an object by place once it has gaps. */
function listOrObjectOf(item: Schema): Schema {
  return { anyOf: [arrayOf(item), byId(item)] };
}

const BATCH_ERROR = closed({ code: WHOLE_NUMBER, message: TEXT, details: {}, type: TEXT_OR_NULL }, [
  "details",
]);

/** The error of one item of a batch. */
export function batchError(components: Components): Schema {
  return components.named("BatchError", BATCH_ERROR);
}

function listOrObject(entries: Map<number, string>): string {
  const hasGaps = [...entries.keys()].some((key, index) => key !== index);
  if (!hasGaps) return `[${[...entries.values()].join(",")}]`;
  return `{${[...entries].map(([key, json]) => `"${key}":${json}`).join(",")}}`;
}
