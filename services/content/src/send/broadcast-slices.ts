import { backgroundDeadline } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import { ContactCommandService } from "@tidings/proto/tidings/contact/v1/command";
import { serviceActor } from "@tidings/rpc/actor";
import type { Upstreams } from "@tidings/service/upstreams";
import { LRUCache } from "lru-cache";
import type { BroadcastKind } from "./broadcast-kind.ts";
import type { RecipientChoice } from "./run-broadcasts.ts";

/** Recipients of a broadcast who have no message yet. */
export interface Slice<R> {
  fresh: R[];
  /** The contact behind which the next one begins; 0 at the end. */
  next: number;
}

/** Slices that are read in one turn while all their members have a message already. */
const SLICES_MAX = 50;
const LAST_ID = 2 ** 31 - 1;
/** A slice that was read ahead is used within this time: then a member who left meanwhile is not chosen. */
const AHEAD_MS = 2_000;
const AHEAD_MAX = 20;
const actor = serviceActor("Sends");

interface Ahead<R> {
  after: number;
  slice: Promise<Slice<R>>;
}

/** Reads the slice behind the position of a broadcast (a key and its row), and begins to read the one behind that, while this one is chosen. */
export function sliceReader<R>(
  upstreams: Upstreams,
  kind: BroadcastKind,
  choice: RecipientChoice<R>,
): (key: string, row: Row) => Promise<Slice<R>> {
  const ahead = new LRUCache<string, Ahead<R>>({ max: AHEAD_MAX, ttl: AHEAD_MS });
  const read = readSlice(upstreams, kind, choice);
  return async (key, row) => {
    const after = Number(row.position);
    const begun = ahead.get(key);
    ahead.delete(key);
    const slice = await (begun?.after === after ? begun.slice : read(row, after));
    if (slice.next !== 0) {
      const next = read(row, slice.next);
      next.catch(() => undefined); // it is seen when it is used
      ahead.set(key, { after: slice.next, slice: next });
    }
    return slice;
  };
}

/** Reads the next recipients who have no message yet. Those that were chosen already are not even read. */
function readSlice<R>(upstreams: Upstreams, kind: BroadcastKind, choice: RecipientChoice<R>) {
  const contacts = upstreams.client("contact", ContactCommandService);
  return async (row: Row, position: number): Promise<Slice<R>> => {
    const deadlineMs = backgroundDeadline();
    const segments = { segmentIds: idsIn(row.lists), excludedSegmentIds: idsIn(row.excluded_lists) };
    const last = Number(row.max_contact_id ?? LAST_ID);
    const pageSize = Math.min(choice.slice, Number(row.batch ?? choice.slice));
    const chosenBehind = (after: number) => {
      const chosen = choice.chosenBehind(row, after, deadlineMs);
      chosen.catch(() => undefined); // it is seen where it is used
      return chosen;
    };
    let reading = chosenBehind(position);
    for (let after = position, slices = 1; ; slices++) {
      const chosen = await reading;
      // While the contact service looks, the next ones are read: most often its slice ends with these.
      if (chosen.upTo > 0) reading = chosenBehind(chosen.upTo);
      const { recipients, next: behind } = await contacts.listRecipients(
        { ...segments, ...chosen, after, pageSize, channel: kind.channel },
        { actor, deadlineMs, requestId: "" },
      );
      const within = recipients.filter(({ contactId }) => contactId <= last);
      const next = behind >= last ? 0 : behind;
      const fresh = await choice.freshOf(row, within, deadlineMs);
      if (fresh.length > 0 || next === 0 || slices === SLICES_MAX) return { fresh, next };
      if (next !== chosen.upTo) reading = chosenBehind(next);
      after = next;
    }
  };
}

function idsIn(json: string | null | undefined): number[] {
  return JSON.parse(json ?? "[]");
}
