import { Query } from "pg";
import pgPackage from "pg/package.json" with { type: "json" };
import type { Row, Statement } from "../statement.ts";

interface Columns {
  names: string[];
  /** A row without values. */
  empty: Row;
}

/** The state of a connection. */
interface Known {
  /** The columns that its prepared statements return, by their names. */
  columns: Map<string, Columns>;
  /** The connection, but it asks for no columns. */
  silent: object;
}

const NONE: Columns = { names: [], empty: {} };
const known = new WeakMap<object, Known>();

const TESTED = "8.23.1";
if (pgPackage.version !== TESTED)
  throw new Error(`Statements use private parts of pg ${TESTED}, and ${pgPackage.version} is installed`);

/** The private parts of pg's connection that its own query uses. */
const { prepare } = Query.prototype as unknown as { prepare(connection: object): void };

/**
 * A query whose values stay in Postgres' text form. pg has Postgres describe the columns of a prepared statement each time, and reads
 * that anew. They are the same for as long as the statement is prepared (Postgres refuses to run one whose columns would
 * differ), so that they are asked for once a connection.
 */
export class TextQuery extends Query {
  readonly text: string;
  readonly name: string | undefined;
  readonly values: unknown[];
  readonly callback: (error: Error | null) => void;
  #found: Row[] = [];
  #columns = NONE;
  #known: Map<string, Columns> | undefined;

  constructor(
    { text, name }: Statement,
    values: unknown[],
    done: (error: Error | null, rows: Row[]) => void,
  ) {
    super(text);
    this.text = text;
    this.name = name;
    this.values = values;
    this.callback = (error) => done(error, this.#found);
  }

  prepare(connection: object): void {
    const { columns, silent } = knownOf(connection);
    const own = this.name === undefined ? undefined : columns.get(this.name);
    this.#known = columns;
    this.#columns = own ?? NONE;
    prepare.call(this, own ? silent : connection);
  }

  handleRowDescription({ fields }: { fields: { name: string }[] }): void {
    const names = fields.map(({ name }) => name);
    this.#columns = { names, empty: Object.fromEntries(names.map((name) => [name, null])) };
  }

  handleDataRow({ fields }: { fields: (string | null)[] }): void {
    const { names, empty } = this.#columns;
    const row = { ...empty };
    for (let index = 0; index < names.length; index += 1) row[names[index] as string] = fields[index] ?? null;
    this.#found.push(row);
  }

  handleCommandComplete(): void {
    if (this.name !== undefined) this.#known?.set(this.name, this.#columns);
  }

  handleReadyForQuery(): void {
    this.callback(null);
  }

  handleError(error: Error): void {
    this.callback(error);
  }
}

function knownOf(connection: object): Known {
  const found = known.get(connection);
  if (found) return found;
  const silent = Object.create(connection, { describe: { value: () => undefined } });
  const made = { columns: new Map<string, Columns>(), silent };
  known.set(connection, made);
  return made;
}
