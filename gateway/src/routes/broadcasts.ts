import type { DescMethod } from "@bufbuild/protobuf";
import type { Broadcast } from "@tidings/proto/tidings/content/v1/broadcast";
import type { Outgoing } from "@tidings/rpc/client";
import { badRequest } from "@tidings/rpc/fault";
import type { Cursors } from "../rest/cursor.ts";
import { linkNext, positionOf, sentCursor } from "../rest/cursor-page.ts";
import { objectBody } from "../route/body-form.ts";
import { entityId, type PathParameter, uuid } from "../route/parameter.ts";
import { CURSOR, idIn, type QueryForm } from "../route/query-form.ts";
import { type Route, route } from "../route/route.ts";
import { arrayOf, type Schema, WHOLE_NUMBER } from "../route/schema.ts";
import {
  BROADCAST,
  BROADCAST_SENT,
  BROADCASTS,
  broadcastJson,
  broadcastsJson,
  NOTHING_SENT,
  sentMembers,
} from "./broadcast-json.ts";

/** A method: its descriptor, which names the operation and its right, and the call of it. */
export interface Method<I, O> {
  rpc: DescMethod;
  call(request: I, options: Outgoing): Promise<O>;
}

/** A resource that is sent to segments. */
export interface Broadcasting {
  /** Its path. */
  resource: "emails" | "smses";
  /** The name of its id in the paths of its broadcasts. */
  item: "emailId" | "smsId";
  /** How summaries speak of an entity, of one that goes to segments, and of a broadcast. */
  words: { entity: string; sent: string; broadcast: string };
  /** Members of the body of a send beside those that all have. */
  members?: Record<string, Schema>;
  cursors: Cursors;
  send: Method<{ id: number }, { broadcastId: string }>;
  list: Method<
    { itemId: number; after: string; pageSize: number },
    { broadcasts: Broadcast[]; next: string }
  >;
  get: Method<{ itemId: number; id: string; wait?: boolean }, Broadcast>;
  control: Method<{ itemId: number; id: string; action: string }, Broadcast>;
}

/** The route that sends an entity to its segments, and the routes of its broadcasts. */
export function broadcastRoutes(kind: Broadcasting): { send: Route; broadcasts: Route[] } {
  return { send: sendRoute(kind), broadcasts: [listRoute(kind), getRoute(kind), ...controlRoutes(kind)] };
}

const MEMBERS: Record<string, Schema> = {
  lists: arrayOf(WHOLE_NUMBER),
  limit: WHOLE_NUMBER,
  batch: WHOLE_NUMBER,
  minContactId: WHOLE_NUMBER,
  maxContactId: WHOLE_NUMBER,
};

function sendRoute({ resource, words, members, send, get }: Broadcasting): Route {
  const properties = { ...MEMBERS, ...members };
  return route({
    method: "POST",
    path: `/${resource}/:id/send`,
    summary: `Send ${words.sent} to its segments`,
    rpc: send.rpc,
    parameters: { id: entityId(resource, "view") },
    body: objectBody({ type: "object", properties, examples: [{ limit: 1_000 }] }),
    budget: "batch",
    answer: BROADCAST_SENT,
    errors: [409],
    async handle({ parameters: { id }, body: sent, options }) {
      const { broadcastId } = await send.call({ id, ...sentMembers(sent, Object.keys(properties)) }, options);
      if (broadcastId === "") return NOTHING_SENT;
      return broadcastJson(await get.call({ itemId: id, id: broadcastId, wait: true }, options));
    },
  });
}

const PAGE = 100;
const PAGE_QUERY: QueryForm<{ cursor: string | undefined; pageSize: number }> = {
  parameters: [
    {
      name: "limit",
      description: `At most so many, ${PAGE} at most`,
      schema: { type: "integer", minimum: 1, maximum: PAGE },
    },
    CURSOR,
  ],
  read({ limit, cursor }) {
    const pageSize = limit === undefined ? PAGE : idIn("limit", limit);
    if (pageSize > PAGE) throw badRequest(`limit may be at most ${PAGE}.`);
    return { cursor: sentCursor({ cursor }), pageSize };
  },
};

function listRoute({ resource, item, words, cursors, list }: Broadcasting): Route {
  const pages = { cursors, filters: [] };
  return route({
    method: "GET",
    path: `/${resource}/:${item}/sends`,
    summary: `List the sends of ${words.entity} to segments`,
    rpc: list.rpc,
    parameters: { [item]: entityId(resource, "view") },
    query: PAGE_QUERY,
    answer: BROADCASTS,
    async handle({ parameters, query: { cursor, pageSize }, options, response }) {
      const after = (cursor && positionOf(cursor, response, pages)) || "";
      const asked = { itemId: Number(parameters[item]), after, pageSize };
      const { broadcasts, next } = await list.call(asked, options);
      if (cursor !== undefined && next !== "") linkNext(next, response, pages);
      return broadcastsJson(broadcasts);
    },
  });
}

function getRoute({ resource, item, words, get }: Broadcasting): Route {
  return route({
    method: "GET",
    path: `/${resource}/:${item}/sends/:sendId`,
    summary: `Get how far ${words.broadcast} to segments is`,
    rpc: get.rpc,
    parameters: ofBroadcast(item, entityId(resource, "view")),
    answer: BROADCAST,
    handle: ({ parameters, options }) => get.call(namedIn(item, parameters), options),
  });
}

function controlRoutes({ resource, item, words, control }: Broadcasting): Route[] {
  return ["pause", "resume", "cancel"].map((action) =>
    route({
      method: "POST",
      path: `/${resource}/:${item}/sends/:sendId/${action}`,
      summary: `${action.charAt(0).toUpperCase()}${action.slice(1)} ${words.broadcast} to segments`,
      operation: control.rpc.localName.replace("control", action),
      rpc: control.rpc,
      parameters: ofBroadcast(item, entityId(resource, "edit")),
      answer: BROADCAST,
      errors: [409],
      handle: ({ parameters, options }) => control.call({ ...namedIn(item, parameters), action }, options),
    }),
  );
}

/** The parameters of the path of a broadcast, in its order. */
function ofBroadcast(
  item: string,
  id: PathParameter<number>,
): Record<string, PathParameter<number | string>> {
  return { [item]: id, sendId: uuid("Id of the send") };
}

/** The broadcast that a path names. */
function namedIn(item: string, { [item]: id, sendId }: Record<string, number | string>) {
  return { itemId: Number(id), id: String(sendId) };
}
