import { type DescMessage, fromBinary, type MessageShape } from "@bufbuild/protobuf";
import { type Timestamp, timestampDate } from "@bufbuild/protobuf/wkt";
import { prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import { slices } from "@tidings/runtime/slices";
import { keepBeside, switchBeside } from "./beside.ts";
import type { Projection } from "./projection.ts";

/** A replica table of facts about contacts that another service publishes: sends, hits, downloads. */
export interface FactReplica<S extends DescMessage> {
  /** The subjects whose events carry such facts. */
  subjects: string[];
  table: string;
  /** Columns by name with their SQL types, besides `contact_id`. `id` is the key; of facts with a `version` the highest stays. */
  columns: Record<string, string>;
  /** A row for each fact of an event: `contact_id` and the columns. */
  rows(event: MessageShape<S>): Record<string, unknown>[];
  /** Whether the owner lists its facts, so that the replica can be built from nothing. */
  isListed?: boolean;
}

/** How a service finds the contact that a fact belongs to now: the contact may have been merged or erased. */
export interface ContactsNow {
  /** Called before facts are written: merges and deletions of these contacts wait until the transaction ends, or are visible to it. */
  hold(transaction: Transaction, contactIds: number[]): void;
  /** SQL that joins the facts `sent s`, without those of erased contacts. */
  join: string;
  /** SQL: the id of the contact as of now. */
  contactId: string;
}

/** Rows in one statement. */
const SLICE = 2_000;

/**
 * Keeps facts by their ids: a fact that arrives twice is one row, so these events need no inbox. Returns the ids of the
 * contacts with a new or changed fact.
 */
export function facts<S extends DescMessage>(
  schema: S,
  contacts: ContactsNow,
  { subjects, table, columns, rows, isListed = false }: FactReplica<S>,
): Projection {
  const [, owner = ""] = schema.typeName.split(".");
  const keep = prepared(
    `keep_${table}`,
    keepText(table, columns, contacts, [SENT, newerText(table, columns)]),
  );
  const { removeBeside, replaceBeside } = besideStatements(table, columns, contacts);
  return {
    owner,
    subjects,
    isKeyed: true,
    ...(isListed && { listed: { name: table, type: schema.typeName } }),
    async keep(transaction, events) {
      const all = events.flatMap(({ payload }) => rows(fromBinary(schema, payload)));
      const touched = new Set<number>();
      for (const slice of slices(all, SLICE)) {
        contacts.hold(
          transaction,
          slice.map(({ contact_id }) => Number(contact_id)),
        );
        const kept = await transaction.query(keep, [JSON.stringify(slice)]);
        for (const { contact_id } of kept) touched.add(Number(contact_id));
      }
      return [...touched];
    },
    beside: {
      keep(transaction, events) {
        const all = events.flatMap(({ payload }) => rows(fromBinary(schema, payload)));
        const built = all.map((row) => ({ id: String(row.id), version: Number(row.version ?? 0), row }));
        for (const slice of slices(built, SLICE)) keepBeside(transaction, table, slice);
      },
      async replace(transaction) {
        await switchBeside(transaction, table, async () => {
          transaction.execute(removeBeside);
          return transaction.query(replaceBeside);
        });
      },
    },
  };
}

/** The facts of a statement's parameter. */
const SENT = "json_to_recordset($1::json)";

/** A fact that is there already is replaced by a higher version. */
function newerText(table: string, columns: Record<string, string>): string {
  if (!("version" in columns)) return "do nothing";
  const replaced = Object.keys(columns)
    .filter((name) => name !== "id")
    .map((name) => `${name} = excluded.${name}`);
  return `do update set ${replaced.join(", ")} where ${table}.version < excluded.version`;
}

/** Inserts the facts of a source for the contacts that they belong to now; `conflict` says what becomes of those that are there already. */
function keepText(
  table: string,
  columns: Record<string, string>,
  contacts: ContactsNow,
  [source, conflict]: [source: string, conflict: string],
): string {
  const names = Object.keys(columns);
  const isVersioned = names.includes("version");
  const sent = ["contact_id integer", ...names.map((name) => `${name} ${columns[name]}`)].join(", ");
  return `with sent as (select x.* from ${source} as x (${sent})),
    latest as (
      select distinct on (s.id) ${contacts.contactId} as contact_id, ${names.map((name) => `s.${name}`).join(", ")}
      from sent s ${contacts.join} order by s.id${isVersioned ? ", s.version desc" : ""}),
    kept as (
      insert into ${table} (contact_id, ${names.join(", ")}) select contact_id, ${names.join(", ")} from latest order by id
      on conflict (id) ${conflict} returning contact_id)
    select distinct contact_id from kept`;
}

/** Facts that the build has not are deleted, and those that differ from it are replaced, whatever their version: the owner is right. */
function besideStatements(table: string, columns: Record<string, string>, contacts: ContactsNow) {
  const built = `(select row from projected_beside where name = '${table}') b, jsonb_to_record(b.row)`;
  const values = ["contact_id", ...Object.keys(columns).filter((name) => name !== "id")];
  const replaced = values.map((name) => `${name} = excluded.${name}`).join(", ");
  const [live, own] = [table, "excluded"].map((row) => values.map((name) => `${row}.${name}`).join(", "));
  const differing = `do update set ${replaced} where (${live}) is distinct from (${own})`;
  return {
    removeBeside: prepared(
      `keep_${table}_beside_gone`,
      `delete from ${table} t where not exists (
         select from projected_beside b where b.name = '${table}' and b.id = t.id::text)`,
    ),
    replaceBeside: prepared(`keep_${table}_beside`, keepText(table, columns, contacts, [built, differing])),
  };
}

/** A time as JSON for a statement; null when absent. */
export function timeOf(time: Timestamp | undefined): string | null {
  return time ? timestampDate(time).toISOString() : null;
}
