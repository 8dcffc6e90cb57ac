import type { Transaction } from "@tidings/database/transaction";
import type { DomainEvent } from "@tidings/messaging/outbox";
import type { ContactIds } from "./contact-ids.ts";
import { firstVisits } from "./first-visits.ts";
import type { Sighting, Visitor } from "./sighting.ts";
import type { VisitFact } from "./visit-fact.ts";
import { seeVisitors } from "./visitors.ts";

export interface MeetOptions<F> {
  /** The pages, links and assets that the visitor is at by this fact. */
  targetsOf(fact: F): string[];
  /** The hit that this fact is; none for facts of other kinds. */
  hitIdOf?(fact: F): string;
}

export interface Met<F> {
  /** The visitors of the facts. Machines, and people who may not be known, have none. */
  visitors: ReadonlyMap<F, Visitor>;
  /** The facts without those that a script sent again after they had been recorded. */
  facts: F[];
  /** The facts that are their visitor's first at one of their targets. */
  unique: ReadonlySet<F>;
  /** The events of the visitors, which go before those of the facts. */
  events: DomainEvent[];
}

/** Notes the visitors of these facts, and where they are, in the transaction of the facts. */
export async function meetVisitors<F extends VisitFact>(
  transaction: Transaction,
  ids: ContactIds,
  sent: F[],
  { targetsOf, hitIdOf }: MeetOptions<F>,
): Promise<Met<F>> {
  const sightings = new Map(sent.map((fact) => [fact, sightingsOf(fact, hitIdOf?.(fact))]));
  const {
    visitors: byDevice,
    events,
    repeated,
  } = await seeVisitors(transaction, ids, [...sightings.values()].flat());
  const visitors = new Map(
    sent.flatMap((fact) => {
      const visitor = byDevice.get(fact.device?.id ?? "");
      return visitor ? [[fact, visitor] as const] : [];
    }),
  );
  const isNews = (fact: F) => !sightings.get(fact)?.some((sighting) => repeated.has(sighting));
  const news = [...visitors].filter(([fact]) => isNews(fact));
  const isFirst = await firstVisits(
    transaction,
    news.flatMap(([fact, { contactId }]) => targetsOf(fact).map((target) => ({ contactId, target }))),
  );
  const firsts = news.filter(
    // Each target is asked about: the first visit of several in one group is the first of all.
    ([fact, { contactId }]) => targetsOf(fact).filter((target) => isFirst(contactId, target)).length > 0,
  );
  return { visitors, facts: sent.filter(isNews), unique: new Set(firsts.map(([fact]) => fact)), events };
}

/** A person who may not be known is counted, and leaves no row. */
export function isKept({ device, verdict }: VisitFact): boolean {
  return device !== undefined || verdict === "machine";
}

/** The verdict on a fact's visitor as metrics have it; `nobody` for a person who may not be known. */
export function countedVerdict(fact: VisitFact): string {
  return isKept(fact) ? fact.verdict : "nobody";
}

/** The browser of a fact, where it may be known. `hitId` is the hit that the fact is. */
export function sightingsOf(fact: VisitFact, hitId?: string): Sighting[] {
  const { device } = fact;
  return device ? [{ ...fact, deviceId: device.id, isNewDevice: device.isNew, hitId }] : [];
}
