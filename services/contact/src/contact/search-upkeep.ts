import { backgroundDeadline, type Database, prepared } from "@tidings/database/database";
import { afterCommits } from "@tidings/messaging/after-commits";
import type { Outbox } from "@tidings/messaging/outbox";
import type { Log } from "@tidings/runtime/log";

const GATHER_MS = 2_000;
const sortIn = prepared("search_sort_in", "select sort_in_search()");

/**
 * Sorts what was written into the indexes for searches, every two seconds while there is something: it costs a fraction of
 * what it does for each contact, and no writer has to wait for it. Until then it is found all the same.
 */
export function startSearchUpkeep(database: Database, outbox: Outbox, log: Log): { stop(): void } {
  return afterCommits({ outbox, log, name: "search", delayMs: GATHER_MS }, () =>
    database.query(sortIn, [], backgroundDeadline()),
  );
}
