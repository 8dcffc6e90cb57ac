import { SpanKind } from "@opentelemetry/api";
import type { Bus } from "@tidings/bus/connect";
import type { Event } from "@tidings/bus/event";
import { oldestUnacknowledged } from "@tidings/bus/oldest-unacknowledged";
import { packsOf } from "@tidings/bus/payload/pack";
import { publish, publishPack } from "@tidings/bus/publish";
import { MAX_AGE_MS, type StreamDefinition } from "@tidings/bus/streams";
import { type Database, prepared, queryByIndex, WITHOUT_FLUSH } from "@tidings/database/database";
import { electLeader } from "@tidings/database/leader";
import type { Row } from "@tidings/database/statement";
import { createWakeUp } from "@tidings/database/wake-up";
import type { Log } from "@tidings/runtime/log";
import { addSource } from "@tidings/runtime/scrape";
import { inSpan, keptTraceparent } from "@tidings/runtime/telemetry";
import { untilTick } from "@tidings/runtime/tick";
import { Counter } from "prom-client";
import { messagingSources } from "./backlog.ts";
import type { Outbox } from "./outbox.ts";
import { purgeMessages } from "./purge.ts";
import { reconcileStream } from "./reconcile-stream.ts";

export interface Relay {
  /** Finishes the pass that is running. */
  stop(): Promise<void>;
}

export interface RelayOptions {
  database: Database;
  /** The URL of the same database: leadership needs a connection of its own. */
  databaseUrl: string;
  outbox: Outbox;
  bus: Bus;
  /** Where this process' events go. */
  stream: StreamDefinition;
  log: Log;
}

const BATCH = 500;
/** For events whose commit woke nobody. */
const POLL_MS = 5_000;
/** While older transactions run. */
const HELD_MS = 20;
/** Not a leader: it looks whether it has become one. */
const FOLLOWER_MS = 1_000;
/** Events committed within this time are published in one pass, so that each consumer handles them in one transaction. */
const GATHER_MS = 20;
/** Under load a pass gathers for longer: from so many events of the pass before on. */
const BUSY_EVENTS = 4;
const BUSY_GATHER_MS = 80;
const AWAY_MS = 250;
/** Is the stream still what it was? A lost one is made again from the outbox. */
const LOOK_MS = 15_000;
const TIDY_MS = 60_000;
/** Events stay this much longer than the slowest consumer of the stream needs them, and no longer than the stream has them. */
const KEPT_MS = 10 * 60_000;
const BACKOFF_FIRST_MS = 100;
const BACKOFF_MAX_MS = 30_000;

const published = new Counter({
  name: "tidings_outbox_published_total",
  help: "Events handed over to the bus",
});

/**
 * Rows of transactions that are older than every one still running, so that the order of ids is that of the stream even
 * where a slow transaction drew a lower one. Transactions of the whole cluster count there, those of other schemas too:
 * nobody is waited for longer than two seconds. What comes later then comes late, but nothing is skipped, and the events of
 * one aggregate keep their order: an id is drawn after the aggregate's row was locked.
 */
const selectPending = prepared(
  "relay_pending",
  `select w.id, o.event_id, o.subject, o.aggregate_id, o.aggregate_version, o.payload, o.traceparent, o.actor,
          to_char(o.created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as time,
          w.xid < pg_snapshot_xmin(pg_current_snapshot())
            or w.created_at < clock_timestamp() - interval '2 seconds' as is_due
   from (select * from outbox_waiting order by id limit ${BATCH}) as w
   cross join lateral (select * from outbox where id = w.id limit 1) as o
   order by w.id`,
);
/** Not worth a wait for the disk: what is published twice is known by its id. */
const markPublished = prepared(
  "relay_mark",
  `delete from outbox_waiting
   where id = any($1::bigint[]) and ${WITHOUT_FLUSH}`,
);
/** Replicas of a version before the table of what waits go on writing as they know it, while they last. */
const takeOver = prepared(
  "relay_take_over",
  `with taken as (
     update outbox set published_at = now() where published_at is null returning id, xid, created_at)
   insert into outbox_waiting (id, xid, created_at) select * from taken on conflict do nothing`,
);

/**
 * Takes events from the outbox to the bus, each at least once and, while nothing fails, in order. The process that leads is
 * woken by its own commits and by those of its replicas. What NATS does not take stays in the outbox.
 */
export function startRelay(options: RelayOptions): Relay {
  const { database, bus, outbox, log } = options;
  const wakeUp = createWakeUp();
  const onChange = () => wakeUp.nudge();
  const leadership = electLeader({ url: options.databaseUrl, name: "relay", log, onChange });
  let isStopping = false;
  const stream = streamWatch(options);
  const tidy = tidier(options);
  const nudges = `nudge.relay.${options.stream.name}`;

  outbox.onCommitted(() => (leadership.isLeader() ? wakeUp.nudge() : bus.nudge(nudges)));
  bus.onNudge(nudges, () => wakeUp.nudge());
  bus.onConnected(() => {
    stream.forget();
    wakeUp.force();
  });

  let gatherMs = GATHER_MS;
  /** Milliseconds until the next pass is worth while. */
  const pass = async (): Promise<number> => {
    if (!leadership.isLeader()) return FOLLOWER_MS;
    if (!bus.isConnected()) return AWAY_MS;
    await stream.check();
    const { waiting, held, latestSeq } = await publishPending(database, bus);
    stream.published(latestSeq);
    gatherMs = waiting < BUSY_EVENTS ? GATHER_MS : BUSY_GATHER_MS;
    await tidy();
    if (waiting === BATCH && held < BATCH) return 0;
    return held > 0 ? HELD_MS : untilTick(POLL_MS);
  };

  const run = async () => {
    let failures = 0;
    while (!isStopping) {
      try {
        const delayMs = await pass();
        failures = 0;
        if (delayMs === 0) continue; // a full batch: there is more
        if (await wakeUp.sleep(delayMs)) await wakeUp.rest(gatherMs);
      } catch (error) {
        failures += 1;
        stream.forget();
        log.warn({ err: error, failures }, "events could not be published, trying again");
        await wakeUp.rest(Math.random() * Math.min(BACKOFF_MAX_MS, BACKOFF_FIRST_MS * 2 ** failures));
      }
    }
  };
  const running = run();
  const unwatch = messagingSources(database, bus, options.stream).map(addSource);

  return {
    async stop() {
      for (const end of unwatch) end();
      isStopping = true;
      wakeUp.force();
      await running;
      await leadership.stop();
    },
  };
}

/** Looks at the stream when it may be another one, and every 15 seconds. */
function streamWatch(options: RelayOptions) {
  let isKnown = false;
  /** The sequence number of the latest message that the stream has acknowledged. */
  let publishedSeq = 0;
  let lookAt = 0;
  return {
    forget() {
      isKnown = false;
    },
    published(latestSeq: number) {
      publishedSeq = Math.max(publishedSeq, latestSeq);
    },
    async check() {
      if (isKnown && lookAt >= performance.now()) return;
      // Numbers of another stream say nothing of this one.
      if (!(await reconcileStream(options, publishedSeq))) publishedSeq = 0;
      isKnown = true;
      lookAt = performance.now() + LOOK_MS;
    },
  };
}

/** Removes, once a minute, events that nobody needs any more. */
function tidier({ database, bus, stream }: RelayOptions): () => Promise<void> {
  let tidyAt = performance.now() + TIDY_MS;
  return async () => {
    if (tidyAt > performance.now()) return;
    tidyAt = performance.now() + TIDY_MS;
    await queryByIndex(database, takeOver, []);
    const now = Date.now();
    const neededMs = (await oldestUnacknowledged(bus, stream))?.getTime() ?? now;
    const beforeMs = Math.max(Math.min(neededMs, now) - KEPT_MS, now - MAX_AGE_MS);
    await purgeMessages(database, new Date(beforeMs));
  };
}

interface Pass {
  /** Events that were there. */
  waiting: number;
  /** Events among them that wait for an older transaction. */
  held: number;
  /** Place in the stream of the latest message. */
  latestSeq: number;
}

/** One pass over what is due. Rows that were not acknowledged stay; the first reason is thrown after the rest is marked. */
async function publishPending(database: Database, bus: Bus): Promise<Pass> {
  const waiting = await queryByIndex(database, selectPending, []);
  const rows = waiting.filter((row) => row.is_due === "t");
  const outcomes: PromiseSettledResult<number>[] = [];
  for (const run of runsOf(rows, bus.payloadMax())) {
    const packs = packsOf(run.map(eventOf), bus.payloadMax());
    const published = await Promise.allSettled(packs.map((pack) => publishTraced(bus, pack)));
    outcomes.push(...published.flatMap((outcome, index) => packs[index]?.map(() => outcome) ?? []));
  }
  const ids = rows.filter((_, index) => outcomes[index]?.status === "fulfilled").map(({ id }) => id);
  if (ids.length > 0) await queryByIndex(database, markPublished, [ids]);
  published.inc(ids.length);
  const failure = outcomes.find((outcome) => outcome.status === "rejected");
  if (failure) throw failure.reason;
  const latestSeq = Math.max(
    0,
    ...outcomes.map((outcome) => (outcome.status === "fulfilled" ? outcome.value : 0)),
  );
  return { waiting: waiting.length, held: waiting.length - rows.length, latestSeq };
}

/** Bytes published at once: a large payload delays the events after it. */
function runsOf(rows: Row[], payloadMax: number): Row[][] {
  const isLarge = ({ payload }: Row) => (payload ?? "").length > 2 * payloadMax;
  const runs: Row[][] = [];
  rows.forEach((row, index) => {
    const before = rows[index - 1];
    if (!before || isLarge(row) || isLarge(before)) runs.push([row]);
    else runs.at(-1)?.push(row);
  });
  return runs;
}

async function publishTraced(bus: Bus, pack: Event[]): Promise<number> {
  const [event] = pack;
  if (!event?.traceparent) return publishPack(bus, pack);
  const attributes = {
    "messaging.system": "nats",
    "messaging.operation.name": "publish",
    "messaging.operation.type": "send",
    "messaging.destination.name": event.subject,
    "messaging.message.id": event.id,
  };
  const span = { kind: SpanKind.PRODUCER, traceparent: event.traceparent, attributes };
  return inSpan(`publish ${event.subject}`, span, () =>
    publish(bus, { ...event, traceparent: keptTraceparent() ?? event.traceparent }),
  );
}

function eventOf(row: Row): Event {
  return {
    id: row.event_id ?? "",
    subject: row.subject ?? "",
    aggregateId: Number(row.aggregate_id),
    aggregateVersion: Number(row.aggregate_version),
    time: row.time ?? "",
    traceparent: row.traceparent ?? undefined,
    actor: row.actor ? JSON.parse(row.actor) : undefined,
    payload: Buffer.from(row.payload?.slice(2) ?? "", "hex"),
  };
}
