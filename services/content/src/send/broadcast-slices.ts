import { backgroundDeadline } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import { ContactCommandService } from "@tidings/proto/tidings/contact/v1/command";
import { serviceActor } from "@tidings/rpc/actor";
import type { Upstreams } from "@tidings/service/upstreams";
import { LRUCache } from "lru-cache";
import type { BroadcastKind } from "./broadcast-kind.ts";
import type { Recipient } from "./choose-recipients.ts";
import type { ChosenBehind } from "./chosen-behind.ts";
import type { RecipientChoice } from "./recipient-choice.ts";

/** Recipients of a broadcast who have no message yet. */
export interface Slice<R> {
  fresh: R[];
  /** The contact behind which the next one begins; 0 at the end. */
  next: number;
}

/** Members of the segments of a broadcast who may be written to, and were not chosen by themselves. */
interface Page {
  members: Recipient[];
  /** The contact behind which the next one begins; 0 at the end. */
  next: number;
  /** The contacts behind it that were chosen, where they are being read. */
  chosenNext: Promise<ChosenBehind> | undefined;
}

/** Pages that are read in one turn while all their members have a message already. */
const PAGES_MAX = 50;
const LAST_ID = 2 ** 31 - 1;
/** A page that was read ahead is used within this time: then a member who left meanwhile is not chosen. */
const AHEAD_MS = 2_000;
const AHEAD_MAX = 20;
const actor = serviceActor("Sends");

/** Reads the slice behind the position of a broadcast (a key and its row), and begins to read the page behind that, while this one is chosen. */
export function sliceReader<R>(
  upstreams: Upstreams,
  kind: BroadcastKind,
  choice: RecipientChoice<R>,
): (key: string, row: Row) => Promise<Slice<R>> {
  const ahead = new LRUCache<string, { after: number; page: Promise<Page> }>({
    max: AHEAD_MAX,
    ttl: AHEAD_MS,
  });
  const readPage = pageReader(upstreams, kind, choice);
  const nextPage = async (key: string, row: Row, after: number): Promise<Page> => {
    const begun = ahead.get(key);
    ahead.delete(key);
    const page = await (begun?.after === after ? begun.page : readPage(row, after));
    if (page.next === 0) return page;
    const following = quiet(readPage(row, page.next, page.chosenNext));
    ahead.set(key, { after: page.next, page: following });
    return page;
  };
  return async (key, row) => {
    for (let after = Number(row.position), pages = 1; ; pages++) {
      const { members, next } = await nextPage(key, row, after);
      // Not read ahead: what the slice before chose is committed by now.
      const fresh = await choice.freshOf(row, members, backgroundDeadline());
      if (fresh.length > 0 || next === 0 || pages === PAGES_MAX) return { fresh, next };
      after = next;
    }
  };
}

/** Reads the next members. Those that were chosen already are not even read. */
function pageReader<R>(upstreams: Upstreams, kind: BroadcastKind, choice: RecipientChoice<R>) {
  const contacts = upstreams.client("contact", ContactCommandService);
  return async (row: Row, after: number, chosenBehind?: Promise<ChosenBehind>): Promise<Page> => {
    const deadlineMs = backgroundDeadline();
    const last = Number(row.max_contact_id ?? LAST_ID);
    const pageSize = Math.min(choice.slice, Number(row.batch ?? choice.slice));
    const chosen = await (chosenBehind ?? choice.chosenBehind(row, after, deadlineMs));
    // While the contact service looks, the next ones are read: most often its page ends with these.
    const chosenNext = chosen.upTo > 0 ? quiet(choice.chosenBehind(row, chosen.upTo, deadlineMs)) : undefined;
    const { recipients, next } = await contacts.listRecipients(
      {
        ...{ segmentIds: idsIn(row.lists), excludedSegmentIds: idsIn(row.excluded_lists) },
        ...{ ...chosen, after, pageSize, channel: kind.channel },
      },
      { actor, deadlineMs, requestId: "" },
    );
    return {
      members: recipients.filter(({ contactId }) => contactId <= last),
      next: next >= last ? 0 : next,
      chosenNext: next === chosen.upTo ? chosenNext : undefined,
    };
  };
}

/** The same promise, whose failure is seen where it is awaited, if it is. */
function quiet<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}

function idsIn(json: string | null | undefined): number[] {
  return JSON.parse(json ?? "[]");
}
