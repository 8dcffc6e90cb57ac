import { isNothing, jsonOf, notValid } from "@tidings/resource/json-member";
import { invalid } from "@tidings/rpc/fault";
import { textOf } from "@tidings/runtime/plain-text";

const COUNT_MAX = 1_000_000;
const ID_MAX = 2 ** 31 - 1;

interface SentToSegments {
  lists: Uint8Array;
  limit: Uint8Array;
  batch: Uint8Array;
  minContactId: Uint8Array;
  maxContactId: Uint8Array;
}

/** Contacts with ids from the one to the other, both included; from the first one, and to the last one, where they are undefined. */
export interface ContactRange {
  minContactId: number | undefined;
  maxContactId: number | undefined;
}

/** Reads a send to segments of an entity. */
export function readSegmentSend(
  { lists, limit, minContactId, maxContactId, ...sent }: SentToSegments,
  entity: { lists: { id: number }[] },
) {
  const segmentIds = readLists(lists, entity);
  const recipientsMax = readCount("limit", limit);
  const batch = readCount("batch", sent.batch);
  const contacts: ContactRange = {
    minContactId: readCount("minContactId", minContactId, ID_MAX),
    maxContactId: readCount("maxContactId", maxContactId, ID_MAX),
  };
  const { minContactId: first = 1, maxContactId: last = ID_MAX } = contacts;
  if (first > last) throw invalid([notValid("maxContactId", "It is not lower than minContactId.")]);
  return { segmentIds, recipientsMax, batch, contacts };
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

export function readCount(field: string, json: Uint8Array, max = COUNT_MAX): number | undefined {
  const sent = jsonOf(json);
  if (isNothing(sent)) return undefined;
  const count = Number(textOf(sent) ?? Number.NaN);
  if (Number.isInteger(count) && count >= 1 && count <= max) return count;
  throw invalid([notValid(field, `It is a whole number from 1 to ${max}.`)]);
}
