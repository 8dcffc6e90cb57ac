import { backgroundDeadline, type Database, prepared } from "@tidings/database/database";
import { jobsOf } from "@tidings/jobs/jobs";
import type { JobOptions } from "@tidings/jobs/run-jobs";
import { ContactCommandService } from "@tidings/proto/tidings/contact/v1/command";
import { serviceActor } from "@tidings/rpc/actor";
import type { Log } from "@tidings/runtime/log";
import { slices } from "@tidings/runtime/slices";
import type { Upstreams } from "@tidings/service/upstreams";

/** Ids for contacts that begin on the public web: known before their rows are there, and while the contact service is away. */
export interface ContactIds {
  /** Throws UNAVAILABLE when there are not as many left. */
  take(count: number): Promise<number[]>;
}

/** The ids that a process takes for itself at a time: those that it has left when it ends are lost. */
const BLOCK = 500;
/** Blocks in stock, once there are visitors: ten thousand of them may begin while the contact service is away. */
const BLOCKS = 20;
const BLOCKS_AT_ONCE = 10;
const REFILL_SECONDS = 60;
const RETRY_SECONDS = 5;
/** The first visitor of an installation waits no longer for an id. */
const FIRST_MS = 2_000;

const jobs = jobsOf("contact_ids");
const actor = serviceActor("Visitors");

const takeStatement = prepared(
  "contact_id_blocks_take",
  `delete from contact_id_blocks where id = (
     select id from contact_id_blocks order by id limit 1 for update skip locked)
   returning to_json(ids) as ids`,
);
const stockStatement = prepared(
  "contact_id_blocks_stock",
  "select count(*) as blocks from contact_id_blocks",
);
const addStatement = prepared("contact_id_blocks_add", "insert into contact_id_blocks (ids) values ($1)");

export function contactIds(database: Database, upstreams: Upstreams): ContactIds {
  const contacts = upstreams.client("contact", ContactCommandService);
  let stock: number[] = [];
  let taking: Promise<void> | undefined;
  const takeBlock = async () => {
    const block = await database.transaction(backgroundDeadline(), async (transaction) => {
      const [row] = await transaction.query(takeStatement);
      jobs.add(transaction, [{ key: "all" }]);
      return row;
    });
    const ids: number[] = block ? JSON.parse(block.ids ?? "[]") : await askForIds();
    // Not before they are here: others take of the stock meanwhile.
    stock = [...stock, ...ids];
  };
  /** There are no ids in stock before the first visitor. */
  const askForIds = async () => {
    const outgoing = { actor, deadlineMs: Date.now() + FIRST_MS, requestId: "" };
    return (await contacts.reserveContactIds({ count: BLOCK }, outgoing)).ids;
  };
  return {
    async take(count) {
      while (stock.length < count) {
        taking ??= takeBlock().finally(() => {
          taking = undefined;
        });
        await taking;
      }
      return stock.splice(0, count);
    },
  };
}

/** Keeps ids in stock, asked of the contact service: a job of all replicas. */
export function contactIdUpkeep(database: Database, log: Log, upstreams: Upstreams): JobOptions {
  const contacts = upstreams.client("contact", ContactCommandService);
  return {
    database,
    log,
    jobs,
    async prepare(job) {
      const deadlineMs = backgroundDeadline();
      const [stock] = await database.query(stockStatement, [], deadlineMs);
      const missing = Math.min(BLOCKS_AT_ONCE, BLOCKS - Number(stock?.blocks));
      if (missing <= 0) return { ...job, payload: { ids: [] } };
      const outgoing = { actor, deadlineMs, requestId: "" };
      const { ids } = await contacts.reserveContactIds({ count: missing * BLOCK }, outgoing);
      return { ...job, payload: { ids } };
    },
    async work(transaction, { payload }) {
      const { ids } = payload as { ids: number[] };
      for (const block of slices(ids, BLOCK)) transaction.execute(addStatement, [block]);
      // Once more until there is nothing to ask for.
      return { state: "again", payload: {}, delaySeconds: ids.length > 0 ? 0 : REFILL_SECONDS };
    },
    onFailure: async () => ({ state: "failed", delaySeconds: RETRY_SECONDS }),
  };
}
