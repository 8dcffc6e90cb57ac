import type { Event } from "@tidings/bus/event";
import { backgroundDeadline, prepared, type Transaction } from "@tidings/store/database";
import { newEvents } from "@tidings/store/inbox";
import type { BuildServices } from "../segment/build.ts";
import { type ContactChange, followChanges } from "../segment/follow.ts";
import { type Fact, facts } from "./facts.ts";
import { type Neighbour, neighbours } from "./neighbours.ts";

/** Keeps what a batch of events says, each of them once, and lets segments follow in the same transaction. */
export async function project(services: BuildServices, consumer: string, events: Event[]): Promise<void> {
  const known = events.filter(({ subject }) => facts.has(subject) || neighbours.has(subject));
  if (known.length === 0) return;
  const ids = known.map(({ id }) => id);
  const catalogue = await services.catalogues.latest();
  await services.database.transaction(backgroundDeadline(), async (transaction) => {
    const isNew = await newEvents(transaction, consumer, ids);
    const fresh = known.filter(({ id }) => isNew.has(id));
    await keepNeighbours(transaction, fresh);
    await followChanges(services, transaction, catalogue, await keepFacts(transaction, fresh));
  });
}

/** One statement a kind of event. */
async function keepFacts(transaction: Transaction, events: Event[]): Promise<ContactChange[]> {
  const changes: ContactChange[] = [];
  for (const [subject, group] of Map.groupBy(events, (event) => event.subject)) {
    const fact: Fact | undefined = facts.get(subject);
    if (!fact) continue;
    const sent = JSON.stringify(group.map(fact.row));
    const rows = await transaction.query(fact.statement, [sent]);
    changes.push(...rows.map(({ contact_id }) => ({ contactId: Number(contact_id), changed: [fact.table] })));
  }
  return changes;
}

/** What came later than a newer version of the same thing is left out, and so is what follows a deletion. */
const newerStatement = prepared(
  "project_newer",
  `insert into projected_versions (kind, id, version)
   select $1, id, max(version) from unnest($2::integer[], $3::integer[]) as t (id, version) group by id order by id
   on conflict (kind, id) do update set version = excluded.version
   where projected_versions.version < excluded.version
   returning id, version`,
);

async function keepNeighbours(transaction: Transaction, events: Event[]): Promise<void> {
  const kinds = Map.groupBy(
    events.filter(({ subject }) => neighbours.has(subject)),
    ({ subject }) => neighbours.get(subject)?.kind ?? "",
  );
  for (const [kind, group] of kinds) {
    const newer = await transaction.query(newerStatement, [
      kind,
      group.map(({ aggregateId }) => aggregateId),
      group.map(({ aggregateVersion }) => aggregateVersion),
    ]);
    const latest = newer.flatMap(({ id, version }) => {
      const isThis = (event: Event) =>
        event.aggregateId === Number(id) && event.aggregateVersion === Number(version);
      return group.find(isThis) ?? [];
    });
    const [first] = latest;
    const neighbour: Neighbour | undefined = first && neighbours.get(first.subject);
    if (!neighbour) continue;
    const rows = latest.flatMap((event) => neighbours.get(event.subject)?.row(event) ?? []);
    transaction.execute(neighbour.statement, [
      latest.map(({ aggregateId }) => aggregateId),
      JSON.stringify(rows),
    ]);
  }
}
