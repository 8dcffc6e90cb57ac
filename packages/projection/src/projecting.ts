import type { Bus } from "@tidings/bus/connect";
import type { Consumption } from "@tidings/bus/consume";
import type { Event } from "@tidings/bus/event";
import { backgroundDeadline, type Database } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import { consumeEvents } from "@tidings/messaging/consume-events";
import { newEvents } from "@tidings/messaging/inbox";
import { askOwnersThrough } from "@tidings/resource/await-rows";
import type { Log } from "@tidings/runtime/log";
import { addSource } from "@tidings/runtime/scrape";
import { ownerAsker } from "./ask-owner.ts";
import { openBeside } from "./beside.ts";
import { buildingSource } from "./building.ts";
import { projectionDurable } from "./durable.ts";
import { isKept, nameOf, type Projection } from "./projection.ts";
import { type ListFacts, type ListSnapshots, restartBuilds, startRebuilding } from "./rebuild.ts";

export interface ProjectionOptions {
  /** The name of this process. */
  service: string;
  database: Database;
  bus: Bus;
  log: Log;
  projections: Projection[];
  /** Ask owners for their entities and facts. */
  listSnapshots: ListSnapshots;
  listFacts: ListFacts;
  /** False once the schema is of a later version, whose processes build projections; always true when absent. */
  isCurrent?: (() => Promise<boolean>) | undefined;
  /** Called for each batch. */
  keeping?: (() => Keeping) | undefined;
}

/** Hooks of a service around the transaction that keeps a batch. */
export interface Keeping {
  /** Runs the transaction of a batch, and runs it again where that helps. */
  around(work: () => Promise<void>): Promise<void>;
  /** Called last in the transaction, with the ids of what each projection changed. */
  finish(transaction: Transaction, changed: Map<Projection, number[]>): Promise<void>;
}

/** Keeps replicas up to date: a durable for each stream of another service, and a build for each replica that is not there yet. */
export function startProjecting(options: ProjectionOptions): { stop(): Promise<void> } {
  const { database, projections } = options;
  const owners = new Set(projections.map(({ owner }) => owner));
  const consumptions = new Map([...owners].map((owner) => [owner, consumeOwner(options, owner)]));
  const rebuilding = startRebuilding(
    { ...options, opened: async (owner) => consumptions.get(owner)?.opened },
    (events) => project(options, undefined, events),
  );
  askOwnersThrough(
    database,
    ownerAsker(options, (events) => project(options, undefined, events)),
  );
  const unwatch = addSource(buildingSource(database));
  return {
    async stop() {
      unwatch();
      await Promise.all([...consumptions.values()].map((consumption) => consumption.stop()));
      await rebuilding.stop();
    },
  };
}

function consumeOwner(options: ProjectionOptions, owner: string): Consumption {
  const { service, database, bus } = options;
  const projections = options.projections.filter((projection) => projection.owner === owner);
  const durable = projectionDurable(service, owner);
  const consumer = {
    database,
    bus,
    durable: { ...durable, subjects: subjectsOf(projections) },
    handle: (events: Event[]) => project(options, durable.name, events),
  };
  const names = projections.flatMap((projection) => nameOf(projection) ?? []);
  return consumeEvents(consumer, (transaction, hasFallen) => restartBuilds(transaction, names, hasFallen));
}

/** Each subject once, although several projections may keep its events. */
function subjectsOf(projections: Projection[]): string[] {
  return [...new Set(projections.flatMap(({ subjects }) => subjects))];
}

/** Keeps the entities and facts of a batch of events, each event once. */
export async function project(
  { database, projections, keeping = plain }: Pick<ProjectionOptions, "database" | "projections" | "keeping">,
  consumer: string | undefined,
  events: Event[],
): Promise<void> {
  const known = events.filter((event) => projections.some((projection) => isKept(projection, event.subject)));
  const { around, finish } = keeping();
  if (known.length > 0)
    await around(() =>
      database.transaction(backgroundDeadline(), async (transaction) => {
        const [fresh, beside] = await Promise.all([
          freshEvents(transaction, { projections, consumer, events: known }),
          openBeside(transaction),
        ]);
        const changed = new Map<Projection, number[]>();
        for (const projection of projections) {
          const candidates = projection.isKeyed ? known : fresh;
          const own = candidates.filter(({ subject }) => isKept(projection, subject));
          if (own.length > 0) changed.set(projection, await projection.keep(transaction, own));
          if (beside.has(nameOf(projection) ?? ""))
            projection.beside?.keep(
              transaction,
              known.filter(({ subject }) => isKept(projection, subject)),
            );
        }
        await finish(transaction, changed);
      }),
    );
}

/** Events that this consumer has not had, as far as projections need to know. Listed entities have no consumer: their versions decide. */
async function freshEvents(
  transaction: Transaction,
  {
    projections,
    consumer,
    events,
  }: { projections: Projection[]; consumer: string | undefined; events: Event[] },
): Promise<Event[]> {
  if (consumer === undefined) return events;
  const counted = events.filter(({ subject }) =>
    projections.some((projection) => !projection.isKeyed && isKept(projection, subject)),
  );
  if (counted.length === 0) return [];
  const isNew = await newEvents(
    transaction,
    consumer,
    counted.map(({ id }) => id),
  );
  return counted.filter(({ id }) => isNew.has(id));
}

function plain(): Keeping {
  return { around: (work) => work(), finish: async () => undefined };
}
