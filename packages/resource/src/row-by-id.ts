import type { Database } from "@tidings/database/database";
import type { Row, Statement } from "@tidings/database/statement";
import { coalesce } from "@tidings/runtime/coalesce/coalesce";

interface Wish {
  statement: Statement;
  id: number;
  idColumn: string;
  deadlineMs: number;
}

type Rows = ReadonlyMap<number, Readonly<Row>>;

const SHARING = { atOnce: 2, itemsMax: 64 };

const readers = new WeakMap<Database, (key: string, wish: Wish) => Promise<Rows>>();

/**
 * Reads a row by the id that `idColumn` shows, with a statement that takes many ids. Rows that are asked for at the same time, by
 * whomever, are read together: the start of a statement and its round trip cost more than a row. Several callers may
 * get the very same row, and what each of them may see is for them to say.
 */
export async function rowById(
  database: Database,
  statement: Required<Statement>,
  { id, idColumn = "id", deadlineMs }: { id: number; idColumn?: string; deadlineMs: number },
): Promise<Readonly<Row> | undefined> {
  let read = readers.get(database);
  if (!read) {
    read = coalesce((wishes) => readAll(database, wishes), SHARING);
    readers.set(database, read);
  }
  return (await read(statement.name, { statement, id, idColumn, deadlineMs })).get(id);
}

/** All of them are for the same statement. */
async function readAll(database: Database, wishes: Wish[]): Promise<Rows> {
  const [first] = wishes;
  if (!first) return new Map();
  const ids = [...new Set(wishes.map(({ id }) => id))];
  const deadlineMs = Math.max(...wishes.map((wish) => wish.deadlineMs));
  const rows = await database.query(first.statement, [ids], deadlineMs);
  return new Map(rows.map((row) => [Number(row[first.idColumn]), row]));
}
