import { type Database, prepared, queryByIndex } from "@tidings/database/database";
import type { Queue } from "@tidings/jobs/queue";
import type { HandOver, MailTransport } from "@tidings/mail/mail-transport";
import type { Reading, Source } from "@tidings/runtime/scrape";
import { Counter, Gauge } from "prom-client";
import { HELD_BACK } from "../rate/learned-rates.ts";
import { ADDRESSES_UNHEARD } from "./address-refusals.ts";
import { REFUSALS_UNHEARD } from "./refusals.ts";
import { ARE_HELD } from "./send-permits.ts";

const waiting = new Gauge({
  name: "tidings_sends_waiting",
  help: "Sends that wait, due or not, counted to 10000",
  labelNames: ["lane"],
});
const deferred = new Gauge({
  name: "tidings_sends_deferred",
  help: "Waiting sends that are not due within the next 30 seconds, counted to 10000",
  labelNames: ["lane"],
});
const overdue = new Gauge({
  name: "tidings_sends_overdue_seconds",
  help: "How long the send that was due first has been due; 0 when none is. Paused sends do not count",
  labelNames: ["lane"],
});
const started = new Gauge({
  name: "tidings_sends_started",
  help: "Sends whose messages are handed over now, counted to 10000",
});
const unknown = new Gauge({
  name: "tidings_sends_unknown",
  help: "Sends to contacts of which nobody knows whether their message went out, counted to 10000",
});
const paused = new Gauge({
  name: "tidings_broadcasts_paused",
  help: "Sends to segments that somebody paused, counted to 10000",
});
const held = new Gauge({
  name: "tidings_sends_held",
  help: "1 while no send begins, since the database was restored and nobody has let sends go on",
});
const unheard = new Gauge({
  name: "tidings_send_refusals_waiting",
  help: "Unsubscribes, bounces and their withdrawals, and refused addresses, that the contact service does not have yet, counted to 10000",
});
const heldBack = new Gauge({
  name: "tidings_mail_domains_held_back",
  help: "Domains that get fewer mails because they refused mails for now, counted to 10000",
});
const handOvers = new Counter({
  name: "tidings_mail_hand_overs_total",
  help: "Mails that a transport was given, by outcome; `refused`: for good, `deferred`: for now, `away`: the server takes none",
  labelNames: ["transport", "outcome"],
});
const unasked = new Counter({
  name: "tidings_sends_unasked_total",
  help: "Attempts of sends that ended because the contact service did not answer",
});

const opens = new Counter({
  name: "tidings_mail_opens_total",
  help: "Opens of mails, replies, and clicks that may prove one, by the verdict on who made them",
  labelNames: ["by", "verdict"],
});

const COUNTED_MAX = 10_000;
const count = (rows: string) =>
  `(select count(*) from (select from ${rows} limit ${COUNTED_MAX}) as counted)`;

/** The orders are those of partial indexes: the ledger itself is never read. */
const countStatement = prepared(
  "sends_counts",
  `select ${count("sends where state = 'started' order by due_at")}
       + ${count("notices where state = 'started' order by due_at")}
       + ${count("text_sends where state = 'started' order by due_at")}
       + ${count("tweet_sends where state = 'started' order by due_at")}
       + ${count("notification_sends where state = 'started' order by due_at")} as started,
     ${count("sends where state = 'unknown' order by id")}
       + ${count("text_sends where state = 'unknown' order by id")}
       + ${count("tweet_sends where state = 'unknown' order by id")}
       + ${count("notification_sends where state = 'unknown' order by id")} as unknown,
     ${count("broadcasts where is_paused and finished_at is null order by family_id")} as paused,
     ${ARE_HELD}::integer as held,
     ${count(REFUSALS_UNHEARD)} + ${count(ADDRESSES_UNHEARD)} as unheard,
     ${count(HELD_BACK)} as held_back`,
);

interface CountedLane {
  name: string;
  queue: Pick<Queue<never>, "countWaiting" | "untilDue">;
}

/** How many sends are open, and how late those of each lane are. */
export function sendsSource(database: Database, lanes: CountedLane[]): Source {
  return {
    name: "sends",
    asks: "database",
    gauges: [waiting, deferred, overdue, started, unknown, paused, held, unheard, heldBack],
    async read() {
      const readings: Reading[] = [];
      for (const { name, queue } of lanes) {
        const labels = { lane: name };
        const counts = await queue.countWaiting(database, COUNTED_MAX);
        const dueMs = (await queue.untilDue(database)) ?? 0;
        readings.push(
          { gauge: waiting, labels, value: counts.waiting },
          { gauge: deferred, labels, value: counts.putOff },
          { gauge: overdue, labels, value: Math.max(0, -dueMs / 1_000) },
        );
      }
      const [row] = await queryByIndex(database, countStatement, []);
      return [
        ...readings,
        { gauge: started, value: Number(row?.started) },
        { gauge: unknown, value: Number(row?.unknown) },
        { gauge: paused, value: Number(row?.paused) },
        { gauge: held, value: Number(row?.held) },
        { gauge: unheard, value: Number(row?.unheard) },
        { gauge: heldBack, value: Number(row?.held_back) },
      ];
    },
  };
}

/** An attempt ended because nobody could say whether its contact may be written to. */
export function noteUnasked(): void {
  unasked.inc();
}

/** Somebody, or a machine, opened a mail or followed a link in it. */
export function noteOpen(by: string, verdict: string): void {
  opens.inc({ by, verdict });
}

const OUTCOMES = ["taken", "refused", "deferred", "away", "not begun", "unknown"] as const;

/** The same transport, whose outcomes are counted. */
export function countedTransport(transport: MailTransport): MailTransport {
  return { ...transport, handOver: counting(handOvers, transport) };
}

interface Counted<A extends unknown[]> {
  name: string;
  handOver(...message: A): Promise<HandOver>;
}

/** Hands messages over and counts the outcomes, from zero on. */
export function counting<A extends unknown[]>(
  counter: Counter,
  transport: Counted<A>,
  more: Record<string, string> = {},
): Counted<A>["handOver"] {
  const labels = { ...more, transport: transport.name };
  for (const outcome of OUTCOMES) counter.inc({ ...labels, outcome }, 0);
  return async (...message) => {
    const handOver = await transport.handOver(...message);
    counter.inc({ ...labels, outcome: outcomeOf(handOver) });
    return handOver;
  };
}

function outcomeOf(handOver: HandOver): (typeof OUTCOMES)[number] {
  return handOver.state === "refused" && !handOver.isForGood ? "deferred" : handOver.state;
}
