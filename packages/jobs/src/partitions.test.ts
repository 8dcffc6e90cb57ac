import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Database, openDatabase } from "@tidings/database/database";
import { createLog } from "@tidings/runtime/log";
import { createTestDatabase, queryAsSuperuser, type TestDatabase } from "@tidings/testkit/postgres";
import { type MonthPartitioned, partitionUpkeep } from "./partitions.ts";
import { stepJobs } from "./run-jobs.ts";

const log = createLog("test", "silent");
let testDatabase: TestDatabase;
/** As the role of a process, which may not make tables. */
let database: Database;

before(async () => {
  testDatabase = await createTestDatabase();
  database = openDatabase({ url: testDatabase.url("content"), log });
});
after(async () => {
  await database.close();
  await testDatabase.drop();
});

const query = (text: string, values: unknown[] = []) => database.query({ text }, values, Date.now() + 20_000);
const asOwner = (sql: string) => queryAsSuperuser(testDatabase, `set search_path = content; ${sql}`);

/** A table of facts that is registered, and has its job and no partition yet but the default one. */
async function newTable(name: string): Promise<void> {
  await asOwner(`
    create table ${name} (id integer, at timestamptz not null) partition by range (at);
    create table ${name}_rest partition of ${name} default`);
  await asOwner(`grant select, insert, delete on ${name} to public`);
  await asOwner(`insert into month_partitioned values ('${name}', 'at')`);
  await query("delete from jobs where kind = 'month_partitions'");
  await query("insert into jobs (kind, key) values ('month_partitions', $1)", [name]);
}

/** Does the daily job, today. */
async function keep(table: MonthPartitioned): Promise<void> {
  await query("update jobs set due_at = now() where kind = 'month_partitions'");
  const outcome = await stepJobs(partitionUpkeep(database, log, [table]));
  assert.equal(outcome?.state, "again");
}

async function partitionsOf(name: string): Promise<string[]> {
  const rows = await query(
    "select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = to_regclass($1) order by 1",
    [name],
  );
  return rows.map(({ relname }) => relname ?? "");
}

const monthOf = async (shift: number): Promise<string> => {
  const text =
    "select to_char(now() at time zone 'UTC' + make_interval(months => $1::integer), 'YYYY_MM') as month";
  const [row] = await query(text, [shift]);
  return row?.month ?? "";
};

test("this month and the three to come have partitions, and rows are in that of their month", async () => {
  await newTable("visits");
  await keep({ table: "visits" });
  const months = await Promise.all([0, 1, 2, 3].map(monthOf));
  assert.deepEqual(await partitionsOf("visits"), [
    ...months.map((month) => `visits_${month}`),
    "visits_rest",
  ]);
  await query("insert into visits values (1, now())");
  const [row] = await query("select tableoid::regclass::text as partition from visits");
  assert.equal(row?.partition, `visits_${months[0]}`);
});

test("a month of which there are rows already stays in the default partition", async () => {
  await newTable("opens");
  await query("insert into opens values (1, now())");
  await keep({ table: "opens" });
  const months = await Promise.all([1, 2, 3].map(monthOf));
  assert.deepEqual(await partitionsOf("opens"), [...months.map((month) => `opens_${month}`), "opens_rest"]);
});

test("months that are older than the setting are detached with their rows, and nothing without a setting", async () => {
  await newTable("clicks");
  const months = await Promise.all([-3, -2, -1].map(monthOf));
  for (const month of months) {
    const first = `${month.replace("_", "-")}-01`;
    const range = `from ('${first} 00:00+00') to ('${await endOf(first)}')`;
    await asOwner(`create table clicks_${month} partition of clicks for values ${range}`);
    await query("insert into clicks values (1, $1)", [`${first} 12:00+00`]);
  }
  await keep({ table: "clicks" });
  assert.equal((await query("select 1 from clicks")).length, 3);
  await keep({ table: "clicks", monthsKept: 2 });
  assert.equal((await query("select 1 from clicks")).length, 2);
  const detached = await asOwner(`select count(*)::int as count from clicks_${months[0]}`);
  assert.match(JSON.stringify(detached), /"count":1/);
});

test("months of a table whose old partitions are dropped are gone with their rows", async () => {
  await newTable("keys");
  const month = await monthOf(-3);
  const first = `${month.replace("_", "-")}-01`;
  await asOwner(
    `create table keys_${month} partition of keys for values from ('${first} 00:00+00') to ('${await endOf(first)}')`,
  );
  await keep({ table: "keys", monthsKept: 1, isDropped: true });
  const [row] = await query("select to_regclass($1) as name", [`keys_${month}`]);
  assert.equal(row?.name, null);
});

async function endOf(first: string): Promise<string> {
  const [row] = await query("select ($1::date + interval '1 month')::date::text as date", [first]);
  return `${row?.date} 00:00+00`;
}

test("replicas that keep a table at the same moment disturb nothing, and no table is kept that is not registered", async () => {
  await newTable("letters");
  const keepOnce = () => query("select keep_month_partitions('letters', null, false)");
  await Promise.allSettled([keepOnce(), keepOnce(), keepOnce()]);
  await keepOnce();
  assert.equal((await partitionsOf("letters")).length, 5);
  await assert.rejects(query("select keep_month_partitions('forms', null, false)"));
  await assert.rejects(query("create table mine (id integer)"));
});
