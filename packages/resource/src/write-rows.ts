import type { DescMessage, Message } from "@bufbuild/protobuf";
import type { Transaction } from "@tidings/database/transaction";
import { type DomainEvent, encodeEvent, type Outbox } from "@tidings/messaging/outbox";
import { aliasMaker } from "./alias.ts";
import { type Column, toRecord } from "./columns.ts";
import { newItems } from "./draft.ts";
import type { RepositoryOptions } from "./repository-options.ts";
import { placeOf, type Resource } from "./resource.ts";
import { isChange, type Outcome, type Stored } from "./row-change.ts";
import type { rowStatements } from "./row-statements.ts";

interface Writer<T> {
  outbox: Outbox;
  columns: Column[];
  statements: ReturnType<typeof rowStatements>;
  changed: RepositoryOptions<T & Resource>["changed"] | undefined;
}

/** Writes what was decided about each item, in one set: new rows get ids, changed rows a version, both an event. */
export function rowWriter<T extends Resource>(
  schema: DescMessage,
  { outbox, columns, statements, changed }: Writer<T>,
): (transaction: Transaction, outcomes: Outcome<T>[]) => Promise<void> {
  const { table } = placeOf(schema);
  const makeAliases = aliasMaker(table, schema, columns);
  return async (transaction, outcomes) => {
    const changes = outcomes.filter(isChange);
    const added = changes.filter(({ before }) => !before).map(({ saved }) => saved);
    const edited = changes.filter(({ before }) => before).map(({ saved }) => saved);
    const drafts = changes.map(({ saved, before }) => ({ draft: saved.message, before: before?.message }));
    await makeAliases?.(transaction, drafts);
    await numberItems(transaction, table, columns, drafts);
    if (added.length > 0) {
      const ids = await transaction.query(statements.nextIds, [added.length]);
      added.forEach(({ message }, index) => {
        message.id = Number(ids[index]?.id);
      });
      transaction.execute(statements.insert, [records(added, columns)]);
    }
    if (edited.length > 0) transaction.execute(statements.update, [records(edited, columns)]);
    outbox.append(transaction, [
      ...rowEvents(schema, "created", added),
      ...rowEvents(schema, "updated", edited),
    ]);
    if (changes.length > 0)
      await changed?.(
        transaction,
        changes.map(({ saved, before }) => ({ before: before?.message, after: saved.message })),
      );
  };
}

/** The events of rows: `<place>.<verb>`, with the message as it is now. */
export function rowEvents<T extends Resource>(
  schema: DescMessage,
  verb: string,
  stored: Stored<T>[],
): DomainEvent[] {
  const { events: subject } = placeOf(schema);
  return stored.map(({ message, version }) => ({
    subject: `${subject}.${verb}`,
    aggregateId: message.id,
    aggregateVersion: version,
    payload: encodeEvent(schema, message),
  }));
}

function records<T extends Resource>(stored: Stored<T>[], columns: Column[]): string {
  return JSON.stringify(stored.map(({ message, version }) => ({ ...toRecord(message, columns), version })));
}

/** Gives ids to the items within new and changed rows that have none: `<table>_<column>_ids` counts them. */
async function numberItems(
  transaction: Transaction,
  table: string,
  columns: Column[],
  changes: { draft: Message }[],
): Promise<void> {
  const drafts = changes.map(({ draft }) => draft);
  for (const [{ name }, items] of newItems(columns, drafts)) {
    const text = `select nextval('${table}_${name}_ids') as id from generate_series(1, (select $1::integer))`;
    const ids = await transaction.query({ text }, [items.length]);
    items.forEach((item, index) => {
      item.id = Number(ids[index]?.id);
    });
  }
}
