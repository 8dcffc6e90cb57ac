import type { Database } from "@tidings/database/database";
import { startWork, type Worker } from "@tidings/jobs/work";
import type { Outbox } from "@tidings/messaging/outbox";
import { limited } from "@tidings/runtime/limited";
import type { Log } from "@tidings/runtime/log";
import { Counter } from "prom-client";
import { recordSends } from "./record-sends.ts";
import { mailSender, type SendMailOptions, type SendOutcome } from "./send-mail.ts";
import { bulkLane, directLane, type Send, type SendLane } from "./send-queue.ts";

export interface RunSendsOptions extends SendMailOptions {
  database: Database;
  outbox: Outbox;
  log: Log;
  /** Mails of a lane that are handed over at a time. */
  connections: number;
}

const ended = new Counter({
  name: "tidings_sends_total",
  help: "Attempts of sends by what became of them; `waiting`: they are tried again",
  labelNames: ["lane", "state"],
});

/** For sends that other replicas chose. */
const POLL_MS = 1_000;
/** Sends of one email that a process holds. */
const SHARE = 200;
const HELD_MAX = 1_000;

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
  // Emails share the connections. None is asked for before its turn has come: answers are good for a second.
  const inTurn = limited(connections);
  return startWork<Send, SendOutcome>({
    database,
    log,
    name,
    queue,
    starts,
    attempt: (job, begin) => inTurn(() => send(job, begin)),
    isFailure: ({ isEverybody }) => isEverybody,
    async record(results) {
      const recorded = await recordSends(database, outbox, results);
      for (const { outcome } of results) ended.inc({ lane: name, state: outcome.state });
      return recorded;
    },
    share: SHARE,
    atOnce: connections,
    inFlightMax: HELD_MAX,
    pollMs: POLL_MS,
  });
}
