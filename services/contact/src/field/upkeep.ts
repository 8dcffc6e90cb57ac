import { randomUUID } from "node:crypto";
import type { FieldObject } from "@tidings/contacts/shown-field";
import { type Database, prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import { jobsOf, type NewJob } from "@tidings/jobs/jobs";
import type { Outcome } from "@tidings/jobs/outcome";
import type { JobOptions } from "@tidings/jobs/run-jobs";
import { type Field, FieldSchema } from "@tidings/proto/tidings/contact/v1/field";
import type { Changed } from "@tidings/resource/repository-options";
import { foldedAddress } from "@tidings/runtime/email-address";
import type { Log } from "@tidings/runtime/log";
import { companyTable } from "../rows/company.ts";
import { contactTable } from "../rows/contact.ts";

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

/** Work that a changed definition makes necessary, in the order of the changes of each field. */
const upkeepJobs = jobsOf("field_upkeep", { isOrdered: true, shown: { subject: FieldSchema } });

interface Task extends Record<string, unknown> {
  /** Forget the values, claim them as identifiers, or give them up as such. */
  task: "forget" | "claim" | "release";
  fieldId: number;
  object: FieldObject;
  alias: string;
  /** Records up to this id are done. */
  position: number;
  /** When it was seen first, in the text form of a timestamptz. */
  seenAt?: string;
}

/** Plans what changes of fields leave behind, in the transaction of these changes. */
export function planUpkeep(transaction: Transaction, changes: Changed<Field>[]): void {
  const jobs = changes.flatMap(({ before, after }): NewJob[] => {
    if (!before) return [];
    const { id: fieldId, object, alias, label, createdBy } = before;
    const about = { fieldId, object: object as FieldObject, alias, position: 0 };
    const isClaimed = after !== undefined && isIdentifier(after);
    const tasks: Task[] = [
      ...(isIdentifier(before) === isClaimed
        ? []
        : [{ ...about, task: isClaimed ? "claim" : "release" } as const]),
      ...(after ? [] : [{ ...about, task: "forget" } as const]),
    ];
    return tasks.map((task) => ({
      key: `${task.task} ${randomUUID()}`,
      group: fieldId,
      payload: task,
      subject: { id: fieldId, name: label, ownerId: createdBy },
    }));
  });
  upkeepJobs.add(transaction, jobs);
}

function isIdentifier({ isUniqueIdentifier, isPublished }: Field): boolean {
  return isUniqueIdentifier === true && isPublished === true;
}

/**
 * Does what changed definitions leave behind, a slice of records at a time: the values of a deleted field are forgotten,
 * those of a field that became a unique identifier are claimed (the first record that has one keeps it), those of one
 * that no longer is are given up. Any number of replicas may do so; a crash loses a slice of work at most.
 */
export function upkeepOptions(database: Database, log: Log): JobOptions {
  return {
    database,
    log,
    jobs: upkeepJobs,
    work: (transaction, { payload }) => step(transaction, payload as Task),
  };
}

const ripeStatement = prepared(
  "field_upkeep_ripe",
  `select clock_timestamp() as now, $1::timestamptz < (
     select coalesce(min(a.xact_start), clock_timestamp()) from pg_stat_activity a
     where a.datname = current_database() and a.usename = current_user and a.pid <> pg_backend_pid()) as is_ripe`,
);
const RIPENING_SECONDS = 0.1;

/**
 * A task begins when nobody writes by the old definition any more. A transaction that began before the task could be seen
 * may do so; one that began later reads the new revision (see underCatalogue). So a task is marked when it is seen, and done
 * once no transaction of ours is older than the mark.
 */
async function step(transaction: Transaction, task: Task): Promise<Outcome> {
  const [row] = await transaction.query(ripeStatement, [task.seenAt ?? null]);
  if (row?.is_ripe !== "t") {
    const payload = { ...task, seenAt: task.seenAt ?? row?.now };
    return { state: "again", payload, delaySeconds: RIPENING_SECONDS };
  }
  const total = await workOn(transaction, task);
  const position = task.position + SLICE;
  const progress = { done: Math.min(position, total), total, result: { task: task.task } };
  if (position >= total) return { state: "done", progress };
  return { state: "again", payload: { ...task, position }, progress };
}

/** One slice. Returns the id of the last record that there is to look at. */
async function workOn(transaction: Transaction, task: Task): Promise<number> {
  const { name, table, identifiers, idColumn } = TABLES[task.object];
  if (task.task === "release") {
    transaction.execute({ text: `delete from ${identifiers} where field = $1` }, [task.alias]);
    return 0;
  }
  const from = task.position;
  if (task.task === "forget") {
    const text = `update ${name} set custom = custom - $3::text where id > $1 and id <= $2 and custom ? $3`;
    transaction.execute({ text }, [from, from + SLICE, String(task.fieldId)]);
  } else {
    const isColumn = table.columns.some((column) => column.name === task.alias);
    const value = isColumn ? `"${task.alias}"` : `custom ->> '${task.fieldId}'`;
    const rows = await transaction.query(
      {
        text: `select id, ${value} as value from ${name} where id > $1 and id <= $2 and ${value} <> '' order by id`,
      },
      [from, from + SLICE],
    );
    const claims = rows.map((row) => ({ id: row.id, value: foldedAddress(row.value ?? "") }));
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
  return Number(last?.id ?? 0);
}
