import { setTimeout as pause } from "node:timers/promises";
import { LEASE_MS } from "@tidings/jobs/queue";
import { type Result, startWork, type Worker } from "@tidings/jobs/work";
import type { Outbox } from "@tidings/messaging/outbox";
import { isOutage } from "@tidings/rpc/outage";
import { coalesce } from "@tidings/runtime/coalesce";
import { limited } from "@tidings/runtime/limited";
import { Counter } from "prom-client";
import { recordSends } from "./record-sends.ts";
import { mailSender, type SendMailOptions, type SendOutcome } from "./send-mail.ts";
import { bulkLane, directLane, type Send, type SendLane } from "./send-queue.ts";

export interface RunSendsOptions extends SendMailOptions {
  outbox: Outbox;
  /** Mails of a lane that are handed over at a time. */
  connections: number;
}

const ended = new Counter({
  name: "tidings_sends_total",
  help: "Attempts of sends by what became of them; `waiting`: they are tried again; `lost`: they were not begun",
  labelNames: ["lane", "state"],
});

/** For sends that other replicas chose. */
const POLL_MS = 1_000;
/** Sends of one email that a process holds. */
const SHARE = 200;
const HELD_MAX = 1_000;
const RETRY_MS = 250;

/** Sends what is due until it is stopped. Any number of processes may do so side by side. */
export function startSending(options: RunSendsOptions): Pick<Worker, "nudge" | "stop"> {
  const workers = [directLane, bulkLane].map((lane) => startLane(lane, options));
  return {
    nudge() {
      for (const worker of workers) worker.nudge();
    },
    async stop() {
      await Promise.all(workers.map((worker) => worker.stop()));
      options.transport.close();
    },
  };
}

function startLane({ name, queue, starts }: SendLane, options: RunSendsOptions): Worker {
  const { database, outbox, log, connections } = options;
  const send = mailSender(options);
  const record = coalesce((results: Result<Send, SendOutcome>[]) => recordSends(database, outbox, results));
  // Emails share the connections, and none is free before its outcome is recorded: so many are unknown after a kill, and no more.
  const inTurn = limited(connections);
  return startWork<Send, SendOutcome>({
    database,
    log,
    name,
    queue,
    starts,
    attempt: (job, begin) =>
      inTurn(async () => {
        const outcome = await send(job, begin);
        if (outcome !== undefined) await throughOutages(() => record(name, { job, outcome }));
        ended.inc({ lane: name, state: outcome?.state ?? "lost" });
        return outcome;
      }),
    isFailure: ({ isEverybody }) => isEverybody,
    // Each attempt has recorded its outcome already.
    record: async (results) => new Set(results.map(({ job }) => job.id)),
    share: SHARE,
    atOnce: connections,
    inFlightMax: HELD_MAX,
    pollMs: POLL_MS,
  });
}

/** Tries again while the database is away, as long as the lease may hold. */
async function throughOutages<T>(work: () => Promise<T>): Promise<T> {
  const untilMs = performance.now() + LEASE_MS;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!isOutage(error) || performance.now() > untilMs) throw error;
      await pause(RETRY_MS);
    }
  }
}
