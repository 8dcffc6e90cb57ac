import type { DescMessage, Message } from "@bufbuild/protobuf";
import type { ListQuery } from "@tidings/proto/tidings/type/v1/list";
import type { Outgoing } from "@tidings/rpc/client";
import type { Resource } from "../resources.ts";
import { type ApiResponse, sendEntity, sendJson } from "../rest/exchange.ts";
import { idOf } from "../rest/id-of.ts";
import { sendList } from "../rest/list.ts";
import { type ListLimits, type ListParameters, readListParameters } from "../rest/list-query.ts";
import { type MessageWriter, messageWriter } from "../rest/message-json.ts";
import type { Listed } from "../rest/standard-methods.ts";
import { LIST_PARAMETERS, type QueryForm } from "./query-form.ts";
import { arrayOf, byId, COUNT, type Components, closed, type Schema } from "./schema.ts";

/** How the result of a route is answered, and what OpenAPI says of it. */
export interface Answer<T> {
  /** The statuses that it may have, the usual one first. */
  statuses: number[];
  describe(components: Components): Schema;
  /** application/json when absent. */
  contentType?: string;
  /** The names of headers beyond those of every answer. */
  headers?: string[];
  send(response: ApiResponse, result: T): Promise<void> | void;
}

/** `{"success":true}`, whatever the result. */
export const SUCCESS: Answer<unknown> = {
  statuses: [200],
  describe: () => closed({ success: { const: true } }),
  send: (response) => sendJson(response, 200, '{"success":true}'),
};

/** An object that is written as it is. */
export function jsonAnswer(schema: Schema): Answer<object> {
  return {
    statuses: [200],
    describe: () => schema,
    send: (response, result) => sendJson(response, 200, JSON.stringify(result)),
  };
}

/** JSON that was written already. */
export function textAnswer(describe: (components: Components) => Schema): Answer<string> {
  return { statuses: [200], describe, send: (response, json) => sendJson(response, 200, json) };
}

export interface MessageAnswerOptions<M> {
  write?: (message: M) => string;
  /** Members may be left out by `write`. */
  isPart?: true;
  /** The path of a resource, one of which was made: the answer is 201 with its `Location`. */
  madeAt?: string;
}

/** `{"<one>":{...}}`: one message. */
export function messageAnswer<M extends Message>(
  one: string,
  message: DescMessage,
  { write = messageWriter(message), isPart, madeAt }: MessageAnswerOptions<M> = {},
): Answer<M> {
  const status = madeAt === undefined ? 200 : 201;
  return {
    statuses: [status],
    headers: madeAt === undefined ? ["ETag"] : ["ETag", "Location"],
    describe: (components) =>
      closed({ [one]: isPart ? components.present(message) : components.answered(message) }),
    send(response, item) {
      if (madeAt !== undefined) response.setHeader("location", `/api/${madeAt}/${idOf(item)}`);
      sendEntity(response, status, `{"${one}":${write(item)}}`);
    },
  };
}

/** Answers a page: of all there is, or of what the path names. */
export type Lister = (query: ListQuery, options: Outgoing) => Promise<Listed>;

/** A page, and the parameters by which it is asked for. */
export interface AskedList {
  parameters: ListParameters;
  list: Lister;
}

/** The members of a resource that shape the answer of its list. */
export type ListShape = Pick<Resource, "many" | "shape" | "total">;

/** `{"total":…,"<many>":…}`. Without `write` the members of each row are those of its message that are selected. */
export function listAnswer(
  shape: ListShape,
  message: DescMessage,
  {
    write,
    describe,
    headers = [],
  }: { write?: MessageWriter; describe?: (components: Components) => Schema; headers?: string[] } = {},
): Answer<AskedList> {
  const writeRow = write ?? messageWriter(message);
  return {
    statuses: [200],
    headers: ["Link", ...headers],
    describe(components) {
      const row = describe?.(components) ?? components.answered(message);
      const total: Schema = shape.total === "string" ? { type: "string", pattern: "^\\d+$" } : COUNT;
      const rows = shape.shape === "array" ? arrayOf(row) : byId(row);
      return closed({ total, [shape.many]: rows }, ["total"]);
    },
    send: (response, { parameters, list }) =>
      sendList(response, shape, { list }, parameters, (row) => writeRow(row, parameters.select)),
  };
}

/** The usual parameters of a list. */
export function listQuery(limits: ListLimits): QueryForm<ListParameters> {
  return { parameters: LIST_PARAMETERS, read: (query) => readListParameters(query, limits) };
}
