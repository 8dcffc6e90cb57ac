import { backgroundDeadline, type Database } from "../database.ts";

/** How a statement is asked, as by the program. */
interface Asked {
  byIndex?: boolean;
  /** The plan that is kept for all values, or one for these; Postgres chooses when absent. */
  plan?: "generic" | "custom";
}

/** Pages of tables and indexes that a prepared statement reads, such as `sends_of_email(1)`. The database has one connection, which has prepared it. */
export async function pagesRead(
  database: Database,
  execute: string,
  { byIndex = false, plan }: Asked = {},
): Promise<number> {
  const text = `explain (analyze, buffers, format json) execute ${execute}`;
  const [row] = await database.transaction(
    backgroundDeadline(),
    (transaction) => {
      if (plan) transaction.execute({ text: `set local plan_cache_mode = force_${plan}_plan` });
      return transaction.query({ text });
    },
    { byIndex },
  );
  const [{ Plan: read }] = JSON.parse(row?.["QUERY PLAN"] ?? "");
  return read["Shared Hit Blocks"] + read["Shared Read Blocks"];
}
