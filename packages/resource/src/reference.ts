import { create, type DescField, type DescMessage, type Message } from "@bufbuild/protobuf";
import type { Database } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import type { Queryable } from "@tidings/database/transaction";
import { missing, reference, required } from "@tidings/proto/tidings/api/v1/options";
import { type Reference, ReferenceSchema } from "@tidings/proto/tidings/type/v1/reference";
import type { Call } from "@tidings/rpc/call";
import { Code, Fault, NOT_VALID, type Violation } from "@tidings/rpc/fault";
import { optionOf } from "@tidings/rpc/option";
import { type Column, readField, writeField } from "./columns.ts";

/** A kind of entity that resources refer to, as its service knows it. */
export interface ReferenceKind {
  /** The rows that the caller may view, by requested id. The `id` of a row differs where the entity was merged. */
  find(queryable: Queryable, ids: number[], call: Call): Promise<Map<number, Row>>;
  /** Waits a moment for those that are not known yet, where another service owns them. */
  await?(ids: number[], call: Call): Promise<void>;
  /** The message for an id that does not exist, where the kind has one of its own. */
  missing?(id: number): string;
  /** Why this caller may not refer to one of them all the same: what is wrong with the member, or a fault. */
  refuse?(row: Row, referring: Referring): string | Fault | undefined;
  /** The JSON that other resources embed, by id. */
  show(database: Database, ids: number[], call: Call): Promise<Map<number, Uint8Array>>;
}

/** A new or changed resource that refers to something. */
export interface Referring {
  schema: DescMessage;
  isNew: boolean;
  call: Call;
}

/** A column of a resource and the kind of entity it refers to. */
export interface ReferenceColumn {
  column: Column;
  kind: ReferenceKind;
}

/** One write: what was there, who asks, and what was found of what it names. */
interface Resolving {
  before: Message | undefined;
  call: Call;
  referred: Referred;
}

/** Entities that were found for the references of a write, by column and id. */
export type Referred = Map<Column, Map<number, Row>>;

/** Which columns refer to something. Throws when the service does not know the kind. */
export function referenceColumns(columns: Column[], kinds: Record<string, ReferenceKind>): ReferenceColumn[] {
  return columns.flatMap((column) => {
    const name = optionOf(column.field, reference);
    const kind = kinds[name];
    if (name !== "" && !kind) throw new Error(`${column.field} refers to a ${name}, which is unknown here`);
    return kind ? [{ column, kind }] : [];
  });
}

/** Before the transaction: what is on the way to us does not come while it runs. */
export async function awaitReferred(
  columns: ReferenceColumn[],
  messages: (Message | undefined)[],
  call: Call,
): Promise<void> {
  for (const { column, kind } of columns) {
    const ids = idsIn(messages, column);
    if (ids.length > 0) await kind.await?.(ids, call);
  }
}

/** Looks up all that these messages refer to: one query for each column. */
export async function findReferred(
  columns: ReferenceColumn[],
  queryable: Queryable,
  messages: (Message | undefined)[],
  call: Call,
): Promise<Referred> {
  const referred: Referred = new Map();
  for (const { column, kind } of columns) {
    const ids = idsIn(messages, column);
    if (ids.length > 0) referred.set(column, await kind.find(queryable, ids, call));
  }
  return referred;
}

/**
 * Resolves what a draft refers to: something that is there for the caller. What stays as it was is not judged again, and a
 * change that does not name what is required keeps it.
 */
export function resolveReferences(
  columns: ReferenceColumn[],
  draft: Message,
  { before, call, referred }: Resolving,
): Violation[] | Fault {
  const violations: Violation[] = [];
  for (const { column, kind } of columns) {
    const { field } = column;
    if (field.fieldKind === "list") {
      violations.push(...resolveList(column, kind, draft, { before, call, referred }));
      continue;
    }
    const kept = before && referenceIn(before, column);
    const isRequired = optionOf(field, required);
    const asked = referenceIn(draft, column) ?? (isRequired ? kept : undefined);
    writeField(draft, column, asked && create(ReferenceSchema, { id: asked.id }));
    if (asked ? asked.id === kept?.id : !isRequired) continue;
    const row = asked && referred.get(column)?.get(asked.id);
    const isNew = before === undefined;
    const refusal = row
      ? kind.refuse?.(row, { schema: field.parent, isNew, call })
      : notThere(field, asked && kind.missing?.(asked.id));
    if (refusal instanceof Fault) return refusal;
    if (refusal !== undefined) violations.push({ field: field.jsonName, message: refusal });
    else writeField(draft, column, create(ReferenceSchema, { id: Number(row?.id) }));
  }
  return violations;
}

/** The same for a list, in which nothing stands twice. */
function resolveList(
  column: Column,
  kind: ReferenceKind,
  draft: Message,
  { before, call, referred }: Resolving,
): Violation[] {
  const { field } = column;
  const kept = new Set(before ? referencesIn(before, column).map(({ id }) => id) : []);
  const resolved = new Set<number>();
  for (const { id } of referencesIn(draft, column)) {
    const row = kept.has(id) ? undefined : referred.get(column)?.get(id);
    if (!row && !kept.has(id))
      return [{ field: field.jsonName, message: `There is no ${kindName(field)} ${id}.` }];
    const refusal = row && kind.refuse?.(row, { schema: field.parent, isNew: before === undefined, call });
    if (refusal !== undefined)
      return [{ field: field.jsonName, message: refusal instanceof Fault ? refusal.message : refusal }];
    resolved.add(row ? Number(row.id) : id);
  }
  writeField(
    draft,
    column,
    [...resolved].map((id) => create(ReferenceSchema, { id })),
  );
  return [];
}

/** `point_group`: a point group */
function kindName(field: DescField): string {
  return optionOf(field, reference).replaceAll("_", " ");
}

/** Where it is said in words of its own, they are all that is said. */
function notThere(field: DescField, ofKind: string | undefined): string | Fault {
  const message = ofKind ?? optionOf(field, missing);
  if (message === "") return NOT_VALID;
  const violations = [{ field: field.jsonName, message }];
  return new Fault({ code: Code.INVALID_ARGUMENT, reason: "INVALID", message, violations });
}

/** Shows callers what these resources refer to: one query for each column. */
export async function showReferences(
  columns: ReferenceColumn[],
  database: Database,
  items: Message[],
  call: Call,
): Promise<void> {
  for (const { column, kind } of columns) {
    const references = items.flatMap((item) => referencesIn(item, column));
    if (references.length === 0) continue;
    const shown = await kind.show(database, [...new Set(references.map(({ id }) => id))], call);
    for (const reference of references) reference.shown = shown.get(reference.id) ?? new Uint8Array();
  }
}

function idsIn(messages: (Message | undefined)[], column: Column): number[] {
  return messages.flatMap((message) => (message ? referencesIn(message, column).map(({ id }) => id) : []));
}

/** All that a message refers to in this column. */
function referencesIn(message: Message, column: Column): Reference[] {
  if (column.field.fieldKind === "list") return readField(message, column) as Reference[];
  const reference = referenceIn(message, column);
  return reference ? [reference] : [];
}

/** An empty reference says nothing. */
function referenceIn(message: Message, column: Column): Reference | undefined {
  const reference = readField(message, column) as Reference | undefined;
  return reference?.id ? reference : undefined;
}
