import { once } from "node:events";
import { create, type Message } from "@bufbuild/protobuf";
import { type ListQuery, ListQuerySchema } from "@tidings/proto/tidings/type/v1/list";
import type { Resource } from "../resources.ts";
import { idOf } from "./crud.ts";
import { type ApiResponse, BUDGET_MS, outgoing, sendJson } from "./exchange.ts";
import type { StandardMethods } from "./standard-methods.ts";

/** Pages above this are sent in parts, so that memory does not grow with them. */
const PART_SIZE = 500;

type ItemWriter = (item: Message) => string;

/** Answers a list: `{"total":…,"<many>":…}`, an array or an object keyed by id in the order of the query. */
export async function sendList(
  response: ApiResponse,
  resource: Resource,
  methods: StandardMethods,
  query: ListQuery,
  write: ItemWriter,
): Promise<void> {
  const envelope = envelopeOf(resource, write);
  if (query.pageSize > PART_SIZE) return sendInParts(response, methods, query, envelope);
  const { items, totalSize } = await methods.list(query, outgoing(response.locals.exchange, BUDGET_MS.read));
  sendJson(
    response,
    200,
    envelope.opening(totalSize) + items.map(envelope.entry).join(",") + envelope.closing,
  );
}

/** The ids of the page are fixed first; then the rows follow as the receiver takes them. Rows deleted meanwhile are left out. */
async function sendInParts(
  response: ApiResponse,
  methods: StandardMethods,
  query: ListQuery,
  envelope: Envelope,
): Promise<void> {
  const { exchange } = response.locals;
  query.idsOnly = true;
  const { ids, totalSize } = await methods.list(query, outgoing(exchange, BUDGET_MS.read));
  response.statusCode = 200;
  response.setHeader("content-type", "application/json");
  response.write(envelope.opening(totalSize));
  let separator = "";
  for (let at = 0; at < ids.length; at += PART_SIZE) {
    const part = create(ListQuerySchema, { ids: ids.slice(at, at + PART_SIZE), skipTotal: true });
    const { items } = await methods.list(part, outgoing(exchange, BUDGET_MS.read));
    if (response.destroyed) return;
    if (items.length === 0) continue;
    const isTaken = response.write(separator + items.map(envelope.entry).join(","));
    separator = ",";
    if (!isTaken) await Promise.race([once(response, "drain"), once(response, "close")]);
  }
  response.end(envelope.closing);
}

interface Envelope {
  opening(total: number): string;
  entry(item: Message): string;
  closing: string;
}

/** Written as text: an object would put its integer keys in their own order. */
function envelopeOf({ many, shape, total }: Resource, write: ItemWriter): Envelope {
  const quote = total === "string" ? '"' : "";
  const opening = (size: number) => `{"total":${quote}${size}${quote},"${many}":`;
  if (shape === "array") return { opening: (size) => `${opening(size)}[`, entry: write, closing: "]}" };
  return {
    opening: (size) => `${opening(size)}{`,
    entry: (item) => `"${idOf(item)}":${write(item)}`,
    closing: "}}",
  };
}
