import type { DescMessage } from "@bufbuild/protobuf";
import { backgroundDeadline } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import { factEvents } from "@tidings/messaging/fact-events";
import type { FactKind, FactRow } from "./fact-kind.ts";
import { insertFacts } from "./fact-table.ts";
import { groupCommit } from "./group-commit.ts";
import type { Hold } from "./held-visits.ts";
import { isKept, meetVisitors } from "./meet-visitors.ts";
import type { Visits } from "./record-hits.ts";
import type { Visitor } from "./sighting.ts";
import type { VisitFact } from "./visit-fact.ts";

/** Facts of visits that never change: each is a row and a part of an event. */
export interface RecordedKind<F extends VisitFact, S extends DescMessage> extends FactKind<S> {
  /** The subject of the event that carries a row. */
  subjectOf(row: FactRow): string;
  /** The pages, links, assets and items that the visitor is at by this fact. */
  targetsOf(fact: F): string[];
  rowOf(fact: F, visitor: Visitor | undefined, isUnique: boolean): FactRow;
  /** Adds up what the facts count; `unique` are those that are their visitor's first. */
  count(transaction: Transaction, facts: F[], unique: ReadonlySet<F>): void;
}

/** Records a fact and answers its visitor, once it is durable; undefined for a machine, and for a person who may not be known. */
export type RecordFact<F extends VisitFact> = (fact: F) => Promise<Visitor | undefined>;

/** Records facts in groups: visitors, rows, counters and events of a group are one transaction. `hold` keeps those whose verdict is not final. */
export function factRecorder<F extends VisitFact, S extends DescMessage>(
  visits: Visits,
  kind: RecordedKind<F, S>,
  hold: Hold<F> = async (_transaction, _outbox, facts) => ({ judged: facts, waiting: new Map() }),
): RecordFact<F> {
  const record = judgedFactRecorder(visits, kind);
  return groupCommit((sent) =>
    visits.database.transaction(
      backgroundDeadline(),
      async (transaction) => {
        const { judged, waiting } = await hold(transaction, visits.outbox, sent);
        return new Map([...(await record(transaction, judged)), ...waiting]);
      },
      { byIndex: true },
    ),
  );
}

/** Records facts with a final verdict as a part of a transaction, and answers their visitors. */
export function judgedFactRecorder<F extends VisitFact, S extends DescMessage>(
  { outbox, ids }: Visits,
  kind: RecordedKind<F, S>,
): (transaction: Transaction, facts: F[]) => Promise<ReadonlyMap<F, Visitor>> {
  const insertStatement = insertFacts(kind.table, kind.columns);
  return async (transaction, sent) => {
    if (sent.length === 0) return new Map();
    const { targetsOf } = kind;
    const { visitors, facts, events, unique } = await meetVisitors(transaction, ids, sent, { targetsOf });
    const kept = facts.filter(isKept);
    const rows = kept.map((fact) => kind.rowOf(fact, visitors.get(fact), unique.has(fact)));
    if (rows.length > 0) transaction.execute(insertStatement, [JSON.stringify(rows)]);
    kind.count(transaction, facts, unique);
    const published = [...Map.groupBy(rows, kind.subjectOf)].flatMap(([subject, own]) =>
      factEvents(subject, kind.schema, own, (slice) => kind.messageOf(slice)),
    );
    outbox.append(transaction, [...events, ...published]);
    return visitors;
  };
}
