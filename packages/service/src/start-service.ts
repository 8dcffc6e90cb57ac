import type { DescMethod } from "@bufbuild/protobuf";
import { type Bus, busOptions, connectBus } from "@tidings/bus/connect";
import { type DurablePlace, durableKey, streamOf } from "@tidings/bus/streams";
import { answerOnceIn, startForgettingAnswers } from "@tidings/commands/answer-once";
import { type Database, openDatabase } from "@tidings/database/database";
import { isLatest, isMigrated, type Migrations, versionOf } from "@tidings/database/migrate";
import { untilMigrated } from "@tidings/database/until-migrated";
import { implementJobs } from "@tidings/jobs/job-service";
import type { Jobs } from "@tidings/jobs/jobs";
import { RECORDS_RETAINED } from "@tidings/jobs/records";
import { retention } from "@tidings/jobs/retention";
import { type JobOptions, runJobs } from "@tidings/jobs/run-jobs";
import { type FactSource, implementFacts } from "@tidings/messaging/facts";
import { createOutbox, type Outbox } from "@tidings/messaging/outbox";
import { startRelay } from "@tidings/messaging/relay";
import { type Keeping, startProjecting } from "@tidings/projection/projecting";
import type { Projection } from "@tidings/projection/projection";
import type { ListFacts, ListSnapshots } from "@tidings/projection/rebuild";
import { FactService } from "@tidings/proto/tidings/api/v1/fact";
import { SnapshotService } from "@tidings/proto/tidings/api/v1/snapshot";
import { implementSnapshots, type SnapshotSource } from "@tidings/resource/snapshots";
import { implementVisible, type VisibleRows } from "@tidings/resource/visible-rows";
import { actorVerifier, serviceActor } from "@tidings/rpc/actor";
import { methodName } from "@tidings/rpc/definition";
import { type Implementation, serve } from "@tidings/rpc/server";
import type { ServiceConfig } from "@tidings/runtime/config";
import { createLog, type Log } from "@tidings/runtime/log";
import { run } from "@tidings/runtime/run";
import { openTls, type Tls } from "@tidings/runtime/tls";
import { openUpstreams, type Upstreams } from "./upstreams.ts";

/** The dependencies that every service gets. */
export interface Foundation<C extends ServiceConfig> {
  config: C;
  log: Log;
  database: Database;
  bus: Bus;
  outbox: Outbox;
  upstreams: Upstreams;
  /** The certificate of this process, where processes use TLS. */
  tls: Tls | undefined;
  /** True once the process has received the signal to stop. It still serves for a moment. */
  isStopping(): boolean;
}

/** The parts of a service. */
export interface Parts {
  /** The RPC services that it implements. */
  services: Implementation[];
  /** Methods whose calls by one caller at the same time share a transaction, also where they have idempotency keys. */
  sharedWrites?: DescMethod[];
  /** Ports that it serves on besides that of its RPCs, by name. */
  ports?: Record<string, number>;
  /** Background work by name, in the order in which it was started. */
  work?: Record<string, { stop(): Promise<void> | void }>;
  /** Kinds of jobs that it does. */
  jobs?: JobOptions[];
  /** Kinds of jobs that callers see here, though other processes of the same schema may do them. */
  shownJobs?: Jobs[];
  /** Entities that it lists for services that replicate them. */
  snapshots?: SnapshotSource[];
  /** Facts that it lists for services that begin to replicate them. */
  facts?: FactSource[];
  /** Tables of entities that properties of other entities may name. */
  visible?: VisibleRows[];
  /** Replicas of entities and facts of other services. */
  projections?: Projection[];
  keeping?: () => Keeping;
}

export interface ServiceDefinition<C extends ServiceConfig> {
  /** The name of the process, of its schema, its stream and its audience. */
  name: string;
  config: C;
  migrations: Migrations;
  /** The durables that it has rights for on the bus: it can read by no other. */
  durables: DurablePlace[];
  /** How long stopping may take; 30 seconds when absent. */
  stopLimitMs?: number | undefined;
}

const IN_FLIGHT_MAX = 1_024;

/**
 * Runs a service: its database, for whose schema it waits, its bus and the relay of its events, then its parts, then its RPC
 * server. It is ready when its own database answers and is migrated; NATS and other services may be away.
 */
export function startService<C extends ServiceConfig>(
  { name, config, migrations, durables, stopLimitMs }: ServiceDefinition<C>,
  open: (foundation: Foundation<C>) => Promise<Parts> | Parts,
): Promise<void> {
  const log = createLog(name, config.LOG_LEVEL);
  const host = config.INTERNAL_ADDRESS;
  const options = {
    name,
    log,
    host,
    opsPort: config.OPS_PORT,
    shutdownDelayMs: config.SHUTDOWN_DELAY_MS,
    traceStatementsMs: config.TRACE_STATEMENTS_MS,
    stopLimitMs,
  };
  return run(options, async ({ onStop, isStopping }) => {
    const tls = openTls(config, log);
    const databaseUrl = config.DATABASE_URL;
    const database = openDatabase({ url: databaseUrl, connectionsMax: config.DATABASE_CONNECTIONS, log });
    onStop("database", database.close);
    await untilMigrated(database, migrations, log);
    await database.ping().catch(() => false); // probes ask again for the time
    const reader = { durables: durables.map(durableKey), version: versionOf(migrations) };
    const bus = connectBus({ ...busOptions(config), ...reader, name, log });
    onStop("bus", bus.close);
    const outbox = createOutbox();
    const relay = startRelay({ database, databaseUrl, outbox, bus, stream: streamOf(name), log });
    onStop("relay", relay.stop);
    onStop("kept answers", startForgettingAnswers(database, log).stop);
    const upstreams = openUpstreams(config, tls);
    onStop("upstreams", upstreams.close);
    const parts = await open({ config, log, database, bus, outbox, upstreams, tls, isStopping });
    const { services, work = {}, jobs = [], projections = [], keeping } = parts;
    for (const [part, { stop }] of Object.entries(work)) onStop(part, stop);
    const done = jobs.flatMap(({ jobs: kind }) => (kind.shown ? [kind] : []));
    const shownJobs = [...new Set([...done, ...(parts.shownJobs ?? [])])];
    if (done.length > 0) jobs.push(retention(database, log, RECORDS_RETAINED));
    if (jobs.length > 0) onStop("jobs", runJobs(database, log, jobs).stop);
    if (projections.length > 0) {
      const isCurrent = () => isLatest(database, migrations);
      const reading = { service: name, database, bus, log, projections, keeping, isCurrent };
      onStop("projections", startProjecting({ ...reading, ...listsOf(upstreams) }).stop);
    }
    const jobServices = shownJobs.length > 0 ? [implementJobs(database, shownJobs)] : [];
    const server = await serve([...services, ...listServices(parts), ...jobServices], {
      port: config.GRPC_PORT,
      host,
      tls,
      log,
      verifyActor: actorVerifier(config.ACTOR_PUBLIC_KEYS, name),
      answerOnce: answerOnceIn(database, new Set((parts.sharedWrites ?? []).map(methodName))),
      inFlightMax: IN_FLIGHT_MAX,
    });
    onStop("rpc server", server.drain);
    return {
      ports: { grpc: server.port, ...parts.ports },
      isReady: async () => (await database.ping()) && (await isMigrated(database, migrations)),
    };
  });
}

/** The services by which others list the entities and facts of this one. */
function listServices({ snapshots = [], facts = [], visible = [] }: Parts): Implementation[] {
  return [implementSnapshots(snapshots), implementFacts(facts), implementVisible(visible)];
}

const LIST_MS = 10_000;
const projecting = serviceActor("Projection");

/** Projections read these lists anew from the services whose entities and facts they replicate. */
function listsOf(upstreams: Upstreams): { listSnapshots: ListSnapshots; listFacts: ListFacts } {
  return { listSnapshots: snapshotLister(upstreams), listFacts: factLister(upstreams) };
}

function snapshotLister(upstreams: Upstreams): ListSnapshots {
  return async (owner, request, deadlineMs = Date.now() + LIST_MS) => {
    const outgoing = { actor: projecting, deadlineMs, requestId: "" };
    return (await upstreams.client(owner, SnapshotService).listSnapshots(request, outgoing)).snapshots;
  };
}

function factLister(upstreams: Upstreams): ListFacts {
  return async (owner, { type, after, pageSize }) => {
    const outgoing = { actor: projecting, deadlineMs: Date.now() + LIST_MS, requestId: "" };
    const request = { type, pageSize, ...(after && { after }) };
    const { events, next } = await upstreams.client(owner, FactService).listFacts(request, outgoing);
    return { events, next };
  };
}
