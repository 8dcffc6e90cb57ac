import { clone, create, type DescMessage, type Message } from "@bufbuild/protobuf";
import type { FieldMask } from "@bufbuild/protobuf/wkt";
import { timestampFromMilliseconds } from "@tidings/database/timestamp";
import type { Call } from "@tidings/rpc/call";
import { Fault, notFound } from "@tidings/rpc/fault";
import { type Column, type Items, isSaid, readField, writeField } from "./columns.ts";

/** The message and mask of a write. A new row may have no mask. */
export interface Sent<T extends Message = Message> {
  message: T | undefined;
  updateMask: FieldMask | undefined;
  /** Items that are taken out of a list: its field, and their ids. An id that is not in it is ignored. */
  removed?: { field: string; ids: number[] } | undefined;
}

/** A new row: what the caller sent, the initial value where it sent nothing. */
export function newDraft(
  schema: DescMessage,
  columns: Column[],
  message: Message | undefined,
): Message | Fault {
  const draft = create(schema);
  for (const column of columns) {
    const sent = column.outputOnly || !message ? undefined : sentValue(message, column);
    const value = column.items
      ? changedItems(column, column.items, [], sent, true)
      : (sent ?? column.initial);
    if (value instanceof Fault) return value;
    if (value !== undefined) writeField(draft, column, value);
  }
  return draft;
}

/** The row after an edit: the fields of the mask, or with `*` every field, which clears those that were not sent. */
export function changedDraft(
  schema: DescMessage,
  columns: Column[],
  before: Message,
  { message, updateMask, removed }: Sent,
): Message | Fault {
  const draft = clone(schema, before);
  const paths = updateMask?.paths ?? [];
  const isReplaced = paths.includes("*");
  for (const column of columns) {
    if (column.items && column.name === removed?.field)
      writeField(draft, column, withoutItems(draft, column, removed.ids));
    const isFixed = column.outputOnly || column.immutable;
    if (isFixed || !(isReplaced || paths.includes(column.field.name))) continue;
    const sent = message && sentValue(message, column);
    const known = readField(before, column) as Message[];
    const value = column.items
      ? changedItems(column, column.items, known, sent, isReplaced)
      : (sent ?? (column.nullable ? undefined : column.zero));
    if (value instanceof Fault) return value;
    writeField(draft, column, value);
  }
  return draft;
}

function withoutItems(draft: Message, column: Column, ids: number[]): Item[] {
  const removed = new Set(ids);
  return (readField(draft, column) as Item[]).filter(({ id }) => !removed.has(id));
}

/** An empty choice is none. */
function sentValue(message: Message, column: Column): unknown {
  const value = readField(message, column);
  return column.isChoice && value === "" ? undefined : value;
}

type Item = Message & { id: number };

/**
 * A list of items with ids after a write. An item that is sent with an id changes the one of that id; without an id it is new.
 * The others stay, unless the list is replaced. NOT_FOUND for an id that is not there, unless items may be sent with any:
 * then it is new as well.
 */
function changedItems(
  { field }: Column,
  items: Items,
  before: Message[],
  sent: unknown,
  isReplaced: boolean,
): Item[] | Fault {
  const known = new Map((before as Item[]).map((item) => [item.id, item]));
  const changed: Item[] = [];
  for (const item of (sent ?? []) as Item[]) {
    const old = known.get(item.id);
    if (!old && item.id !== 0 && !items.sentId)
      return notFound(`${field.jsonName}: there is no item ${item.id}.`);
    changed.push(mergedItem(items, old, item));
  }
  if (isReplaced) return changed;
  const byId = new Map(changed.filter(({ id }) => id !== 0).map((item) => [item.id, item]));
  const stayed = (before as Item[]).map((item) => byId.get(item.id) ?? item);
  return [...stayed, ...changed.filter(({ id }) => id === 0)];
}

function mergedItem({ schema, columns, sentId }: Items, old: Item | undefined, sent: Item): Item {
  const item = old ? clone(schema, old) : create(schema);
  for (const column of columns) {
    if (column.outputOnly) continue;
    if (isSaid(sent, column)) writeField(item, column, readField(sent, column));
    else if (!old && column.initial !== undefined) writeField(item, column, column.initial);
  }
  if (sentId) writeField(item, sentId, readField(sent, sentId));
  return item as Item;
}

/** Items within these drafts that have no id yet, by the column they are in. */
export function newItems(columns: Column[], drafts: Message[]): Map<Column, Item[]> {
  const added = new Map<Column, Item[]>();
  for (const column of columns.filter(({ items }) => items)) {
    const items = drafts.flatMap((draft) => readField(draft, column) as Item[]);
    const fresh = items.filter(({ id }) => id === 0);
    if (fresh.length > 0) added.set(column, fresh);
  }
  return added;
}

export function stampCreated(draft: Message, columns: Column[], call: Call): void {
  stamp(draft, columns, {
    date_added: timestampFromMilliseconds(Date.now()),
    created_by: call.actor.id ?? undefined,
    created_by_user: call.actor.name,
  });
}

export function stampModified(draft: Message, columns: Column[], call: Call): void {
  stamp(draft, columns, {
    date_modified: timestampFromMilliseconds(Date.now()),
    modified_by: call.actor.id ?? undefined,
    modified_by_user: call.actor.name,
  });
  const revision = columns.find(({ name }) => name === "revision");
  if (revision) writeField(draft, revision, (readField(draft, revision) as number) + 1);
}

/** Writes the columns of these names, as far as there are such. */
export function stamp(draft: Message, columns: Column[], values: Record<string, unknown>): void {
  for (const column of columns) if (column.name in values) writeField(draft, column, values[column.name]);
}
