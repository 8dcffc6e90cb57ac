import type { Log } from "@tidings/runtime/log";
import { backgroundDeadline, type Database, prepared } from "@tidings/store/database";
import type { Outbox } from "@tidings/store/outbox";

const GATHER_MS = 2_000;
const sortIn = prepared("search_sort_in", "select sort_in_search()");

/**
 * Sorts what was written into the indexes for searches, every two seconds while there is something: it costs a fraction of
 * what it does for each contact, and no writer has to wait for it. Until then it is found all the same.
 */
export function startSearchUpkeep(database: Database, outbox: Outbox, log: Log): { stop(): void } {
  let timer: NodeJS.Timeout | undefined;
  const run = async () => {
    await database
      .query(sortIn, [], backgroundDeadline())
      .catch((error) => log.warn({ err: error }, "search indexes were not sorted, later"));
    timer = undefined;
  };
  outbox.onCommitted(() => {
    timer ??= setTimeout(run, GATHER_MS);
  });
  return { stop: () => clearTimeout(timer) };
}
