import { prepared } from "@tidings/database/database";
import type { Row, Statement } from "@tidings/database/statement";
import type { Transaction } from "@tidings/database/transaction";

/** A value of a unique field in the form in which no two records may share it. */
export interface Claim {
  key: string;
  field: string;
  value: string;
}

/** A claim and the record that has it, or is to have it. */
export interface OwnClaim extends Claim {
  recordId: number;
}

export interface RecordColumn {
  name: string;
  sqlType: string;
}

/** The first columns of every table of records. */
export const STANDARD_COLUMNS: RecordColumn[] = [
  { name: "id", sqlType: "integer" },
  { name: "version", sqlType: "integer" },
  { name: "is_published", sqlType: "boolean" },
  { name: "date_added", sqlType: "timestamptz" },
  { name: "created_by", sqlType: "integer" },
  { name: "created_by_user", sqlType: "text" },
  { name: "date_modified", sqlType: "timestamptz" },
  { name: "modified_by", sqlType: "integer" },
  { name: "modified_by_user", sqlType: "text" },
  { name: "owner_id", sqlType: "integer" },
];

/** A table of records that have fields: contacts and companies. */
export interface TableDefinition {
  name: string;
  /** The name of the table in every statement. */
  alias: string;
  columns: RecordColumn[];
  /** The select list of a row that is about to change. */
  lockSelect: string;
  /** Where the values are that no two records may share: (field, value, <id column>). */
  identifiers: { table: string; idColumn: string };
}

export interface RecordTable {
  columns: RecordColumn[];
  /** The constraint that a write breaks when somebody else took an identifier first. */
  identifierConstraint: string;
  /** Locks the records with these ids or identifiers, always in the same order: batches do not deadlock. */
  lock(transaction: Transaction, ids: number[], claims: Claim[]): Promise<Row[]>;
  /** Rows of `id` and the `field_revision` as of now. */
  nextIds(transaction: Transaction, count: number): Promise<Row[]>;
  /** Inserts records with their identifiers. Fails as a whole when somebody else has one of them. */
  insert(transaction: Transaction, rows: Row[], claims: OwnClaim[]): void;
  /** Writes the columns that changed in any of the records. */
  update(transaction: Transaction, edits: { before: Row; row: Row }[]): void;
  claim(transaction: Transaction, claims: OwnClaim[]): void;
  release(transaction: Transaction, claims: Claim[]): void;
  changedColumns(before: Row, after: Row): string[];
}

const UPDATE_STATEMENTS_MAX = 200;

export function recordTable(definition: TableDefinition): RecordTable {
  const { columns } = definition;
  const statements = statementsOf(definition);
  const updateStatement = updateStatements(definition);

  const changedColumns = (before: Row, after: Row) =>
    columns.flatMap((column) => (before[column.name] === after[column.name] ? [] : [column.name]));

  /** A new record rarely shares identifiers with another one: looking up identifiers alone costs a seventh of the whole. */
  const lockRows = async (transaction: Transaction, ids: number[], claims: Claim[]): Promise<Row[]> => {
    if (ids.length > 0 && claims.length > 0)
      return transaction.query(statements.lockByIdOrIdentifier, [...claimColumns(claims), ids]);
    if (claims.length === 0) return transaction.query(statements.lockById, [ids]);
    const holders = await transaction.query(statements.holders, claimColumns(claims));
    return holders.length > 0 ? transaction.query(statements.lockById, [holders.map(({ id }) => id)]) : [];
  };

  return {
    columns,
    identifierConstraint: `${definition.identifiers.table}_pkey`,
    changedColumns,
    async lock(transaction, ids, claims) {
      if (ids.length === 0 && claims.length === 0) return [];
      const rows = await lockRows(transaction, ids, claims);
      // A row that another transaction changed is read as it is now, but with older rows of other tables: read them again.
      const isStale = rows.some(({ version, seen_version }) => version !== seen_version);
      return isStale ? transaction.query(statements.byId, [rows.map(({ id }) => id)]) : rows;
    },
    async nextIds(transaction, count) {
      if (count === 0) return [];
      return transaction.query(statements.nextIds, [count]);
    },
    insert(transaction, rows, claims) {
      if (rows.length === 0) return;
      transaction.execute(statements.insert, [
        ...ownClaimColumns(claims),
        JSON.stringify(rows, withoutNulls),
      ]);
    },
    update(transaction, edits) {
      if (edits.length === 0) return;
      const names = [...new Set(edits.flatMap(({ before, row }) => changedColumns(before, row)))];
      const values = edits.map(({ row }) =>
        Object.fromEntries(["id", ...names].map((column) => [column, row[column]])),
      );
      transaction.execute(updateStatement(names), [JSON.stringify(values, withoutNulls)]);
    },
    claim(transaction, claims) {
      if (claims.length > 0) transaction.execute(statements.claim, ownClaimColumns(claims));
    },
    release(transaction, claims) {
      if (claims.length > 0) transaction.execute(statements.release, claimColumns(claims));
    },
  };
}

/**
 * Values travel as text in one JSON document and are cast here: one statement for any number of records. The sub-selects
 * around array parameters hide their lengths from the planner: it would plan anew for every call, which takes it as long
 * as running the statement.
 */
function statementsOf({ name, alias, columns, lockSelect, identifiers }: TableDefinition) {
  const claimText = `insert into ${identifiers.table} (field, value, ${identifiers.idColumn})
    select * from unnest($1::text[], $2::text[], $3::integer[]) as w(field, value, id) order by field, value`;
  const matching = `select i.${identifiers.idColumn} as id from ${identifiers.table} i
    join unnest((select $1::text[]), (select $2::text[])) as w(field, value)
      on i.field = w.field and i.value = w.value`;
  const seen = `(select seen.version from ${name} seen where seen.id = ${alias}.id) as seen_version`;
  return {
    byId: prepared(
      `${name}_by_id`,
      `select ${lockSelect} from ${name} ${alias}
       where ${alias}.id = any (array(select unnest($1::integer[]))) order by ${alias}.id`,
    ),
    lockById: prepared(
      `${name}_lock_by_id`,
      `select ${lockSelect}, ${seen} from ${name} ${alias}
       where ${alias}.id = any (array(select unnest($1::integer[]))) order by ${alias}.id for update of ${alias}`,
    ),
    lockByIdOrIdentifier: prepared(
      `${name}_lock`,
      `select ${lockSelect}, ${seen} from ${name} ${alias}
       where ${alias}.id in (
         select unnest((select $3::integer[])) union ${matching})
       order by ${alias}.id for update of ${alias}`,
    ),
    holders: prepared(`${name}_holders`, matching),
    nextIds: prepared(
      `${name}_next_ids`,
      `select nextval('${name}_id_seq') as id, (select revision from field_revision) as field_revision
       from generate_series(1, (select $1::integer))`,
    ),
    insert: prepared(
      `${name}_insert`,
      `with added as (
         insert into ${name} (${columns.map((column) => column.name).join(", ")}) overriding system value
         select ${casts(columns).join(", ")} from ${records(columns, "$4")}
       )
       ${claimText}`,
    ),
    claim: prepared(`${identifiers.table}_claim`, claimText),
    release: prepared(
      `${identifiers.table}_release`,
      `delete from ${identifiers.table}
       where (field, value) in (select * from unnest($1::text[], $2::text[]))`,
    ),
  };
}

/** Statements that write some of the columns, each prepared when it is first needed. */
function updateStatements(definition: TableDefinition): (names: string[]) => Statement {
  const { name, columns } = definition;
  const updates = new Map<string, Statement>();
  return (names) => {
    const changed = columns.filter((column) => names.includes(column.name));
    const key = changed.map((column) => column.name).join();
    const known = updates.get(key);
    if (known) return known;
    const text = updateText(definition, changed);
    if (updates.size >= UPDATE_STATEMENTS_MAX) return { text };
    const statement = prepared(`${name}_update_${updates.size + 1}`, text);
    updates.set(key, statement);
    return statement;
  };
}

function updateText({ name, alias }: TableDefinition, columns: RecordColumn[]): string {
  const values = casts(columns);
  const assignments = columns.map((column, index) => `${column.name} = ${values[index]}`);
  return `update ${name} ${alias} set ${assignments.join(", ")}
    from ${records([{ name: "id" }, ...columns], "$1")} where ${alias}.id = x.id::integer`;
}

function records(columns: { name: string }[], parameter: string): string {
  return `json_to_recordset(${parameter}::json) as x(${columns.map(({ name }) => `${name} text`).join(", ")})`;
}

function casts(columns: RecordColumn[]): string[] {
  return columns.map(({ name, sqlType }) => (sqlType === "text" ? `x.${name}` : `x.${name}::${sqlType}`));
}

function withoutNulls(_name: string, value: unknown): unknown {
  return value ?? undefined;
}

function claimColumns(claims: Claim[]): [string[], string[]] {
  return [claims.map(({ field }) => field), claims.map(({ value }) => value)];
}

function ownClaimColumns(claims: OwnClaim[]): [string[], string[], number[]] {
  return [...claimColumns(claims), claims.map(({ recordId }) => recordId)];
}
