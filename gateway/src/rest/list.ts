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

/** What an answer says of the list it holds. */
type ListShape = Pick<Resource, "many" | "shape" | "total">;

/** Answers a list: `{"total":…,"<many>":…}`, an array or an object keyed by id in the order of the query. */
export async function sendList(
  response: ApiResponse,
  resource: ListShape,
  methods: Pick<StandardMethods, "list">,
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

/**
 * The ids of the page are fixed first; then the rows follow as the receiver takes them. Rows deleted meanwhile are left
 * out. The answer begins with its first rows, so that a failure until then is still told as one.
 */
async function sendInParts(
  response: ApiResponse,
  methods: Pick<StandardMethods, "list">,
  query: ListQuery,
  envelope: Envelope,
): Promise<void> {
  const { exchange } = response.locals;
  query.idsOnly = true;
  const { ids, totalSize } = await methods.list(query, outgoing(exchange, BUDGET_MS.read));
  const rowsAt = async (at: number) => {
    const part = create(ListQuerySchema, { ids: ids.slice(at, at + PART_SIZE), skipTotal: true });
    const { items } = await methods.list(part, outgoing(exchange, BUDGET_MS.read));
    return items.map(envelope.entry).join(",");
  };
  const first = ids.length > 0 ? await rowsAt(0) : "";
  response.statusCode = 200;
  response.setHeader("content-type", "application/json");
  response.write(envelope.opening(totalSize) + first);
  let isEmpty = first === "";
  for (let at = PART_SIZE; at < ids.length && !response.destroyed; at += PART_SIZE) {
    const rows = await rowsAt(at);
    if (rows === "") continue;
    const isTaken = response.write(isEmpty ? rows : `,${rows}`);
    isEmpty = false;
    if (!isTaken) await drained(response);
  }
  response.end(envelope.closing);
}

/** When the receiver has taken what was written, or is gone. */
async function drained(response: ApiResponse): Promise<void> {
  const done = new AbortController();
  const { signal } = done;
  await Promise.race([once(response, "drain", { signal }), once(response, "close", { signal })]).finally(() =>
    done.abort(),
  );
}

interface Envelope {
  opening(total: number): string;
  entry(item: Message): string;
  closing: string;
}

/** Written as text: an object would put its integer keys in their own order. */
function envelopeOf({ many, shape, total }: ListShape, write: ItemWriter): Envelope {
  const quote = total === "string" ? '"' : "";
  const opening = (size: number) => `{"total":${quote}${size}${quote},"${many}":`;
  if (shape === "array") return { opening: (size) => `${opening(size)}[`, entry: write, closing: "]}" };
  return {
    opening: (size) => `${opening(size)}{`,
    entry: (item) => `"${idOf(item)}":${write(item)}`,
    closing: "}}",
  };
}
