import { once } from "node:events";
import { create, type Message } from "@bufbuild/protobuf";
import { ListQuerySchema } from "@tidings/proto/tidings/type/v1/list";
import { answerTooLong, isAnswerTooLong } from "@tidings/rpc/fault";
import { Counter } from "prom-client";
import type { Resource } from "../resources.ts";
import { type CursorList, linkNext, positionOf } from "./cursor-page.ts";
import { type ApiResponse, BUDGET_MS, outgoing, sendJson } from "./exchange.ts";
import { idOf } from "./id-of.ts";
import type { ListParameters } from "./list-query.ts";
import type { StandardMethods } from "./standard-methods.ts";

/** Pages above this are sent in parts, so that memory does not grow with them. */
const PART_SIZE_MAX = 500;
const FIRST_PART_SIZE = 50;
/** The bytes that a part should have: the size of the last part sets the rows of the next one. */
const PART_BYTES = 256 * 1024;
/** An answer of which nobody takes anything for so long is given up. */
const UNTAKEN_MS = 30_000;

const pages = new Counter({
  name: "tidings_list_pages_total",
  help: "Pages of lists: by start, the first by cursor, and those behind a cursor",
  labelNames: ["by"],
});

type ItemWriter = (item: Message) => string;

/** The members of a resource that shape the answer of its list. */
type ListShape = Pick<Resource, "many" | "shape" | "total">;

/** Answers a list: `{"total":…,"<many>":…}`, an array or an object keyed by id in the order of the query. */
export async function sendList(
  response: ApiResponse,
  resource: ListShape,
  methods: Pick<StandardMethods, "list">,
  parameters: ListParameters,
  write: ItemWriter,
): Promise<void> {
  const { query, cursor } = parameters;
  pages.inc({ by: cursor === undefined ? "start" : cursor === "" ? "first_cursor" : "cursor" });
  const envelope = envelopeOf(resource, write, { isCounted: !query.skipTotal });
  if (cursor !== undefined) query.after = positionOf(cursor, response, listOf(parameters)) ?? "[]";
  if (query.pageSize > PART_SIZE_MAX) return sendInParts(response, methods, parameters, envelope);
  try {
    const { items, totalSize } = await methods.list(
      query,
      outgoing(response.locals.exchange, BUDGET_MS.read),
    );
    const entries = items.map(envelope.entry).join(",");
    linkBehind(response, parameters);
    sendJson(response, 200, envelope.opening(totalSize) + entries + envelope.closing);
  } catch (error) {
    if (!isAnswerTooLong(error)) throw error;
    await sendInParts(response, methods, parameters, envelope);
  }
}

/**
 * The ids of the page are fixed first; then the rows follow as the receiver takes them. Rows deleted meanwhile are left
 * out. The answer begins with its first rows, so that a failure until then is still an error answer.
 */
async function sendInParts(
  response: ApiResponse,
  methods: Pick<StandardMethods, "list">,
  parameters: ListParameters,
  envelope: Envelope,
): Promise<void> {
  const { exchange } = response.locals;
  const { query } = parameters;
  query.idsOnly = true;
  const { ids, totalSize } = await methods.list(query, outgoing(exchange, BUDGET_MS.read));
  const part = async (from: number, size: number) => {
    const rows = create(ListQuerySchema, { ids: ids.slice(from, from + size), skipTotal: true });
    const { items } = await methods.list(rows, outgoing(exchange, BUDGET_MS.read));
    return items.map(envelope.entry).join(",");
  };
  // A short page whose answer is too long has rows: its list cannot be asked for ids alone.
  if (ids.length === 0 && query.pageSize <= PART_SIZE_MAX) throw answerTooLong();
  /** Reads `size` rows, or as many as fit into a message. */
  const longestPart = async (from: number, size: number): Promise<{ rows: string; size: number }> => {
    try {
      return { rows: await part(from, size), size };
    } catch (error) {
      if (!isAnswerTooLong(error) || size === 1) throw error;
      return longestPart(from, Math.ceil(size / 4));
    }
  };
  let { rows, size } = await longestPart(0, FIRST_PART_SIZE);
  linkBehind(response, parameters);
  response.statusCode = 200;
  response.setHeader("Content-Type", "application/json");
  await taken(response, envelope.opening(totalSize) + rows);
  let isEmpty = rows === "";
  for (let from = size; from < ids.length && !response.destroyed; from += size) {
    ({ rows, size } = await longestPart(from, rows === "" ? size : nextSize(size, rows.length)));
    if (rows === "") continue;
    await taken(response, isEmpty ? rows : `,${rows}`);
    isEmpty = false;
  }
  response.end(envelope.closing);
}

function listOf({ query, cursors }: ListParameters): CursorList {
  const { search, order, where, publishedOnly } = query;
  return { cursors, filters: [search, order, where, publishedOnly] };
}

/** The path of the next page, where there is one. */
function linkBehind(response: ApiResponse, parameters: ListParameters): void {
  const { next } = response.locals.exchange;
  if (parameters.cursor !== undefined && next !== undefined) linkNext(next, response, listOf(parameters));
}

function nextSize(rows: number, bytes: number): number {
  return Math.min(PART_SIZE_MAX, Math.max(1, Math.round((rows * PART_BYTES) / bytes)));
}

/** Writes, and waits until the receiver has taken it or is gone. */
async function taken(response: ApiResponse, text: string): Promise<void> {
  if (response.write(text) || response.destroyed) return;
  const done = new AbortController();
  const { signal } = done;
  const givingUp = setTimeout(() => response.destroy(), UNTAKEN_MS);
  await Promise.race([once(response, "drain", { signal }), once(response, "close", { signal })]).finally(
    () => {
      clearTimeout(givingUp);
      done.abort();
    },
  );
}

interface Envelope {
  opening(total: number): string;
  entry(item: Message): string;
  closing: string;
}

/** Written as text: an object would put its integer keys in their own order. */
function envelopeOf(
  { many, shape, total }: ListShape,
  write: ItemWriter,
  { isCounted }: { isCounted: boolean },
): Envelope {
  const quote = total === "string" ? '"' : "";
  const opening = (size: number) =>
    isCounted ? `{"total":${quote}${size}${quote},"${many}":` : `{"${many}":`;
  if (shape === "array") return { opening: (size) => `${opening(size)}[`, entry: write, closing: "]}" };
  return {
    opening: (size) => `${opening(size)}{`,
    entry: (item) => `"${idOf(item)}":${write(item)}`,
    closing: "}}",
  };
}
