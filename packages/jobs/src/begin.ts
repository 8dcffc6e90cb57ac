import type { Database } from "@tidings/database/database";
import { coalesce } from "@tidings/runtime/coalesce/coalesce";
import type { LimitedStart, StartLimit } from "./limited-starts.ts";
import type { Claimed } from "./queue.ts";
import type { Starts } from "./starts.ts";

/**
 * Commits that a job is started, right before its effect: a job whose worker dies after that becomes `unknown`. Jobs without starts are
 * always begun. When it rejects, the job was returned to the queue.
 */
export type Begin = (limit?: StartLimit) => Promise<Begun>;

/** `lost`: this process does not hold the job any more. `limited`: it does, and the limit is reached. */
export type Begun = "begun" | "lost" | "limited";

interface StartOptions<J extends Claimed> {
  database: Database;
  /** The name of the queue. */
  name: string;
  starts?: Starts<J>;
}

/** Starts at the same time share a statement. Those with limits have one of their own: the others never wait for their locks. */
export function startsTogether<J extends Claimed>({
  database,
  name,
  starts,
}: StartOptions<J>): (job: J, limit?: StartLimit) => Promise<Begun> {
  if (!starts) return async () => "begun";
  const begin = coalesce((jobs: J[]) => starts.begin(database, jobs));
  const beginLimited = coalesce((limited: LimitedStart<J>[]) => starts.beginLimited(database, limited));
  return async (job, limit) => {
    if (!limit) return (await begin(name, job)).has(job) ? "begun" : "lost";
    const { begun, limited } = await beginLimited(name, { job, limit });
    if (begun.has(job)) return "begun";
    return limited.has(job) ? "limited" : "lost";
  };
}
