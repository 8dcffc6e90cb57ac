import { folded } from "@tidings/runtime/folded";
import type { Log } from "@tidings/runtime/log";
import { type Repetition, repeat } from "@tidings/runtime/repeat";
import {
  backgroundDeadline,
  type Database,
  prepared,
  type Row,
  type Transaction,
} from "@tidings/store/database";
import { companyTable } from "../company/row.ts";
import { contactTable } from "../contact/row.ts";
import type { FieldObject } from "./catalogue.ts";

const INTERVAL_MS = 1_000;
/** Record ids a step looks at: its locks are held for milliseconds. */
const SLICE = 5_000;

const TABLES = {
  lead: { name: "contacts", table: contactTable, identifiers: "contact_identifiers", idColumn: "contact_id" },
  company: {
    name: "companies",
    table: companyTable,
    identifiers: "company_identifiers",
    idColumn: "company_id",
  },
};

/**
 * A task begins when nobody writes by the old definition any more. A transaction that began before the task could be seen
 * may do so; one that began later reads the new revision (see underCatalogue). So a task is marked when it is seen, and done
 * once no transaction of ours is older than the mark.
 */
const markTasks = prepared(
  "field_upkeep_mark",
  "update field_upkeep set seen_at = clock_timestamp() where seen_at is null",
);
const nextTask = prepared(
  "field_upkeep_next",
  `select id, task, field_id, object, alias, position from field_upkeep
   where seen_at < (
     select coalesce(min(a.xact_start), clock_timestamp()) from pg_stat_activity a
     where a.datname = current_database() and a.usename = current_user and a.pid <> pg_backend_pid())
   order by id limit 1 for update skip locked`,
);
const advance = prepared("field_upkeep_advance", "update field_upkeep set position = $2 where id = $1");
const finish = prepared("field_upkeep_finish", "delete from field_upkeep where id = $1");

/**
 * Does what changed definitions leave behind, a slice of records at a time: the values of a deleted field are forgotten,
 * those of a field that became a unique identifier are claimed (the first record that has one keeps it), those of one
 * that no longer is are given up. Any number of replicas may do so; a crash loses a slice of work at most.
 */
export function startFieldUpkeep(database: Database, log: Log): Repetition {
  return repeat(() => upkeepStep(database), { intervalMs: INTERVAL_MS, log, name: "field upkeep" });
}

/** One slice of the oldest task; false when there is none to do. */
export async function upkeepStep(database: Database): Promise<boolean> {
  await database.query(markTasks, [], backgroundDeadline());
  return database.transaction(backgroundDeadline(), async (transaction) => {
    const [task] = await transaction.query(nextTask);
    if (!task) return false;
    const isDone = await workOn(transaction, task);
    if (isDone) transaction.execute(finish, [task.id]);
    else transaction.execute(advance, [task.id, Number(task.position) + SLICE]);
    return true;
  });
}

async function workOn(transaction: Transaction, task: Row): Promise<boolean> {
  const { name, table, identifiers, idColumn } = TABLES[task.object as FieldObject];
  if (task.task === "release") {
    transaction.execute({ text: `delete from ${identifiers} where field = $1` }, [task.alias]);
    return true;
  }
  const from = Number(task.position);
  if (task.task === "forget") {
    const text = `update ${name} set custom = custom - $3::text where id > $1 and id <= $2 and custom ? $3`;
    transaction.execute({ text }, [from, from + SLICE, task.field_id]);
  } else {
    const isColumn = table.columns.some((column) => column.name === task.alias);
    const value = isColumn ? `"${task.alias}"` : `custom ->> '${Number(task.field_id)}'`;
    const rows = await transaction.query(
      {
        text: `select id, ${value} as value from ${name} where id > $1 and id <= $2 and ${value} <> '' order by id`,
      },
      [from, from + SLICE],
    );
    const claims = rows.map((row) => ({ id: row.id, value: folded(row.value ?? "") }));
    const text = `insert into ${identifiers} (field, value, ${idColumn})
      select $1, value, id from unnest($2::text[], $3::integer[]) as w (value, id) where value <> ''
      order by value, id on conflict do nothing`;
    transaction.execute({ text }, [
      task.alias,
      claims.map((claim) => claim.value),
      claims.map((claim) => claim.id),
    ]);
  }
  const [last] = await transaction.query({ text: `select max(id) as id from ${name}` });
  return from + SLICE >= Number(last?.id ?? 0);
}
