import { SpanKind } from "@opentelemetry/api";
import type { Bus } from "@tidings/bus/connect";
import type { Event } from "@tidings/bus/event";
import { publish } from "@tidings/bus/publish";
import { ensureStream, type StreamDefinition } from "@tidings/bus/streams";
import type { Log } from "@tidings/runtime/log";
import { currentTraceparent, inSpan } from "@tidings/runtime/telemetry";
import { Counter, Gauge } from "prom-client";
import { backgroundDeadline, type Database, prepared, type Row } from "./database.ts";
import { keepDeadLetter } from "./dead-letter.ts";
import { electLeader } from "./leader.ts";
import type { Outbox } from "./outbox.ts";
import { purgeMessages } from "./purge.ts";
import { replayIfLost } from "./replay.ts";
import { createWakeUp } from "./wake-up.ts";

export interface Relay {
  /** Finishes the pass that is running. */
  stop(): Promise<void>;
}

export interface RelayOptions {
  database: Database;
  /** Of the same database: leadership needs a connection of its own. */
  databaseUrl: string;
  outbox: Outbox;
  bus: Bus;
  /** Where this process' events go. */
  stream: StreamDefinition;
  log: Log;
}

const BATCH = 500;
const POLL_MS = 50;
/** What is committed within so short a time is published in one pass. */
const GATHER_MS = 5;
const AWAY_MS = 250;
const UPKEEP_MS = 5_000;
const BACKOFF_FIRST_MS = 100;
const BACKOFF_MAX_MS = 30_000;

const published = new Counter({
  name: "tidings_outbox_published_total",
  help: "Events handed over to the bus",
});
const oldestSeconds = new Gauge({
  name: "tidings_outbox_oldest_seconds",
  help: "Age of the oldest event that the bus does not have yet",
});

/**
 * Rows of transactions that are older than every one still running: a slow transaction that drew a lower id is not
 * skipped. Ordered by id and not by xid, because the id is drawn after the aggregate's row was locked.
 */
const selectPending = prepared(
  "relay_pending",
  `select id, event_id, subject, aggregate_id, aggregate_version, payload, traceparent,
          to_char(created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as time
   from outbox
   where published_at is null and xid < pg_snapshot_xmin(pg_current_snapshot())
   order by id limit ${BATCH}`,
);
const markPublished = prepared(
  "relay_mark",
  "update outbox set published_at = now() where id = any($1::bigint[])",
);
const selectOldest = prepared(
  "relay_oldest",
  `select extract(epoch from now() - created_at) as seconds
   from outbox where published_at is null order by id limit 1`,
);

/**
 * Takes events from the outbox to the bus, each at least once and, while nothing fails, in order. Commits of this
 * process wake it; it polls for those of its replicas. What NATS does not take stays in the outbox.
 */
export function startRelay(options: RelayOptions): Relay {
  const { database, bus, outbox, log } = options;
  const leadership = electLeader({ url: options.databaseUrl, name: "relay", log });
  const wakeUp = createWakeUp();
  let isStopping = false;
  let isStreamKnown = false;
  let upkeepAt = 0;

  outbox.onCommitted(() => wakeUp.nudge());
  bus.onConnected(() => {
    isStreamKnown = false;
    wakeUp.force();
  });

  const upkeep = async () => {
    if (upkeepAt > performance.now()) return;
    upkeepAt = performance.now() + UPKEEP_MS;
    const [row] = await database.query(selectOldest, [], backgroundDeadline());
    oldestSeconds.set(Number(row?.seconds ?? 0));
    isStreamKnown = false;
    await purgeMessages(database);
  };

  /** Milliseconds until the next pass is worth while. */
  const pass = async (): Promise<number> => {
    if (!leadership.isLeader()) return POLL_MS;
    await upkeep();
    if (!bus.isConnected()) return AWAY_MS;
    if (!isStreamKnown) await replayIfLost(database, await ensureStream(bus, options.stream), log);
    isStreamKnown = true;
    const count = await publishPending(database, bus, log);
    return count === BATCH ? 0 : POLL_MS;
  };

  const run = async () => {
    let failures = 0;
    while (!isStopping) {
      try {
        const delayMs = await pass();
        failures = 0;
        if (delayMs === 0) continue; // a full batch: there is more
        await wakeUp.sleep(delayMs);
        await wakeUp.rest(GATHER_MS);
      } catch (error) {
        failures += 1;
        isStreamKnown = false;
        log.warn({ err: error, failures }, "events could not be published, trying again");
        await wakeUp.rest(Math.random() * Math.min(BACKOFF_MAX_MS, BACKOFF_FIRST_MS * 2 ** failures));
      }
    }
  };
  const running = run();

  return {
    async stop() {
      isStopping = true;
      wakeUp.force();
      await running;
      await leadership.stop();
    },
  };
}

/** One pass over what is due. Rows that were not acknowledged stay; the first reason is thrown after the rest is marked. */
async function publishPending(database: Database, bus: Bus, log: Log): Promise<number> {
  const rows = await database.query(selectPending, [], backgroundDeadline());
  if (rows.length === 0) return 0;
  const outcomes = await Promise.allSettled(rows.map((row) => publishRow(database, bus, row, log)));
  const ids = rows.filter((_, index) => outcomes[index]?.status === "fulfilled").map(({ id }) => id);
  if (ids.length > 0) await database.query(markPublished, [ids], backgroundDeadline());
  published.inc(ids.length);
  const failure = outcomes.find((outcome) => outcome.status === "rejected");
  if (failure) throw failure.reason;
  return rows.length;
}

async function publishRow(database: Database, bus: Bus, row: Row, log: Log): Promise<void> {
  const event = eventOf(row);
  if (event.payload.length > bus.payloadMax()) return setAside(database, event, log);
  if (!event.traceparent) return publish(bus, event);
  const span = { kind: SpanKind.PRODUCER, traceparent: event.traceparent };
  await inSpan(`publish ${event.subject}`, span, () =>
    publish(bus, { ...event, traceparent: currentTraceparent() ?? event.traceparent }),
  );
}

/** An event the bus will never take must not hold up the others. */
async function setAside(database: Database, event: Event, log: Log): Promise<void> {
  const error = new Error(`${event.payload.length} bytes are more than the bus takes`);
  log.error({ err: error, event: event.id, subject: event.subject }, "event cannot be published");
  await keepDeadLetter(database, "relay", { ...event, headers: {}, error, attempts: 1 });
}

function eventOf(row: Row): Event {
  return {
    id: row.event_id ?? "",
    subject: row.subject ?? "",
    aggregateId: Number(row.aggregate_id),
    aggregateVersion: Number(row.aggregate_version),
    time: row.time ?? "",
    traceparent: row.traceparent ?? undefined,
    payload: Buffer.from(row.payload?.slice(2) ?? "", "hex"),
  };
}
