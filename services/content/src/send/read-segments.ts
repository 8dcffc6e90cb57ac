import { isNothing, jsonOf, notValid } from "@tidings/resource/json-member";
import { invalid } from "@tidings/rpc/fault";
import { textOf } from "@tidings/runtime/plain-text";

const COUNT_MAX = 1_000_000;

interface SentToSegments {
  lists: Uint8Array;
  limit: Uint8Array;
  batch: Uint8Array;
}

/** Reads a send to segments of an entity. */
export function readSegmentSend(
  { lists, limit, batch }: SentToSegments,
  entity: { lists: { id: number }[] },
) {
  const segmentIds = readLists(lists, entity);
  const recipientsMax = readCount("limit", limit);
  // Sends share their connections whatever the size of a batch: it is read for the clients that say one.
  readCount("batch", batch);
  return { segmentIds, recipientsMax };
}

/** Segments of an entity; all of them when none are named. */
export function readLists(json: Uint8Array, { lists }: { lists: { id: number }[] }): number[] {
  const own = lists.map(({ id }) => id);
  const sent = jsonOf(json);
  if (isNothing(sent)) return own;
  const ids = Array.isArray(sent) ? sent.map((id) => Number(textOf(id))) : [Number.NaN];
  if (!ids.every((id) => own.includes(id)))
    throw invalid([notValid("lists", "It is a list of ids of segments that the message goes to.")]);
  return [...new Set(ids)];
}

export function readCount(field: string, json: Uint8Array): number | undefined {
  const sent = jsonOf(json);
  if (isNothing(sent)) return undefined;
  const count = Number(textOf(sent) ?? Number.NaN);
  if (Number.isInteger(count) && count >= 1 && count <= COUNT_MAX) return count;
  throw invalid([notValid(field, `It is a whole number from 1 to ${COUNT_MAX}.`)]);
}
