import type { Event } from "@tidings/bus/event";
import { backgroundDeadline, prepared, type Transaction } from "@tidings/store/database";
import { newEvents } from "@tidings/store/inbox";
import type { BuildServices } from "../segment/build.ts";
import { withoutCulprits } from "../segment/culprits.ts";
import { type ContactChange, followChanges } from "../segment/follow.ts";
import { type Fact, facts } from "./facts.ts";
import { type Neighbour, neighbours } from "./neighbours.ts";
import { newestEvents } from "./newest.ts";

/** Keeps what a batch of events says, each of them once, and lets segments follow in the same transaction. */
export async function project(services: BuildServices, consumer: string, events: Event[]): Promise<void> {
  const known = events.filter(({ subject }) => facts.has(subject) || neighbours.has(subject));
  if (known.length === 0) return;
  const ids = known.map(({ id }) => id);
  let changes: ContactChange[] = [];
  const keep = async () => {
    const catalogue = await services.catalogues.latest();
    await services.database.transaction(backgroundDeadline(), async (transaction) => {
      const isNew = await newEvents(transaction, consumer, ids);
      const fresh = known.filter(({ id }) => isNew.has(id));
      await keepNeighbours(transaction, fresh);
      changes = await keepFacts(transaction, fresh);
      await followChanges(services, transaction, catalogue, changes);
    });
  };
  await withoutCulprits(services, () => changes.map(({ contactId }) => contactId), keep);
}

/**
 * A merge of these contacts waits for us, or we for it: what it moves meanwhile is not there to be changed. Then the next
 * statement finds the survivor.
 */
const awaitMergesStatement = prepared(
  "project_await_merges",
  `select from contacts c where c.id in (
     select coalesce(r.contact_id, t.id) from unnest($1::integer[]) as t (id)
     left join contact_redirects r on r.merged_id = t.id)
   order by c.id for key share of c`,
);

/** One statement a kind of event. */
async function keepFacts(transaction: Transaction, events: Event[]): Promise<ContactChange[]> {
  const told = await leaveOutOld(transaction, events);
  const groups = [...Map.groupBy(told, ({ subject }) => subject)].flatMap(([subject, group]) => {
    const fact: Fact | undefined = facts.get(subject);
    return fact ? [{ fact, rows: group.map(fact.row) }] : [];
  });
  if (groups.length === 0) return [];
  const contactIds = groups.flatMap(({ rows }) => rows.map(({ contact_id }) => contact_id));
  transaction.execute(awaitMergesStatement, [contactIds]);
  const changes: ContactChange[] = [];
  for (const { fact, rows } of groups) {
    const touched = await transaction.query(fact.statement, [JSON.stringify(rows)]);
    changes.push(
      ...touched.map(({ contact_id }) => ({ contactId: Number(contact_id), changed: [fact.table] })),
    );
  }
  return changes;
}

/** Of facts that are taken back by later ones only the latest counts. */
async function leaveOutOld(transaction: Transaction, events: Event[]): Promise<Event[]> {
  const told: Event[] = [];
  for (const [kind, group] of Map.groupBy(events, ({ subject }) => facts.get(subject)?.revocable))
    told.push(...(kind ? await newestEvents(transaction, kind, group) : group));
  return told;
}

async function keepNeighbours(transaction: Transaction, events: Event[]): Promise<void> {
  const kinds = Map.groupBy(
    events.filter(({ subject }) => neighbours.has(subject)),
    ({ subject }) => neighbours.get(subject)?.kind ?? "",
  );
  for (const [kind, group] of kinds) {
    const latest = await newestEvents(transaction, kind, group);
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
