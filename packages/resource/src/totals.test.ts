import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { compileSql } from "@tidings/database/compile-sql";
import { backgroundDeadline, type Database, openDatabase } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import { createLog } from "@tidings/runtime/log";
import { createTestDatabase } from "@tidings/testkit/postgres";
import fc from "fast-check";
import { sql } from "kysely";
import { foldTotals, keepTotal, repairTotals, TOTALS_TABLE, type Total, totalOf } from "./totals.ts";
import { byColumn, keepTotalsByColumn, type TotalByColumn, totalByColumn } from "./totals-by-column.ts";

const log = createLog("test", "silent");
const OF_FISH: TotalByColumn[] = [
  { table: "fish", column: "owner_id", type: "id" },
  { table: "fish", column: "is_shown", type: "boolean" },
];
const KEPT: Total[] = [
  { table: "plants" },
  { table: "animals", by: "kind", where: "not away" },
  { table: "fish" },
];
const TOTALS: Total[] = [...KEPT, ...OF_FISH.map(byColumn)];

let testDatabase: Awaited<ReturnType<typeof createTestDatabase>>;
let database: Database;

before(async () => {
  testDatabase = await createTestDatabase();
  database = openDatabase({ url: testDatabase.adminUrl, log });
  const tables = [
    "create table plants (id integer primary key)",
    "create table animals (id integer primary key, kind integer not null, away boolean not null)",
    "create table fish (id integer primary key, owner_id integer, is_shown boolean not null, weight integer)",
    "insert into plants select generate_series(1001, 1010)",
    "insert into fish values (1001, 1, true), (1002, null, false)",
  ];
  const kept = [...KEPT.flatMap(keepTotal), ...keepTotalsByColumn("fish", OF_FISH)];
  for (const text of [...tables, ...TOTALS_TABLE, ...kept]) await run(text);
});

after(async () => {
  await database.close();
  await testDatabase.drop();
});

function run(text: string) {
  return database.query({ text }, [], backgroundDeadline());
}

/** The fish with a value in a column, as they are kept and as they are counted. */
function ofFish(column: string, value: number | boolean | null) {
  const total = OF_FISH.find((each) => each.column === column);
  const kept = total && totalByColumn(total, value);
  assert.ok(kept);
  return sql`select (${sql.raw(compileSql(kept).text.replace("$1", String(Number(value ?? 0))))})::text as kept,
    (select count(*) from fish where ${sql.ref(column)} is not distinct from ${sql.lit(value)})::text as counted`;
}

/** One statement reads the kept total and the count, as of one moment. */
const COMPARED = [
  sql`select (${totalOf("fish")})::text as kept, (select count(*) from fish)::text as counted`,
  ...[1, 2, null].map((owner) => ofFish("owner_id", owner)),
  ...[true, false].map((isShown) => ofFish("is_shown", isShown)),
  sql`select (${totalOf("plants")})::text as kept, (select count(*) from plants)::text as counted`,
  ...[1, 2].map(
    (kind) => sql`select (${totalOf("animals", sql.lit(kind))})::text as kept,
      (select count(*) from animals where kind = ${sql.lit(kind)} and not away)::text as counted`,
  ),
].map((query) => compileSql(query).text);

async function assertRight() {
  for (const text of COMPARED) {
    const [row] = await run(text);
    assert.equal(row?.kept, row?.counted);
  }
}

const id = fc.nat({ max: 30 });
const kind = fc.constantFrom(1, 2);
const owner = fc.constantFrom("1", "2", "null");
const change = fc.oneof(
  id.map((from) => `insert into plants select generate_series(${from}, ${from} + 5) on conflict do nothing`),
  id.map((from) => `delete from plants where id between ${from} and ${from} + 3`),
  fc.tuple(id, kind, fc.boolean()).map(
    ([animal, of, away]) => `insert into animals values (${animal}, ${of}, ${away})
        on conflict (id) do update set kind = excluded.kind, away = excluded.away`,
  ),
  fc.tuple(id, kind).map(([animal, of]) => `update animals set kind = ${of} where id > ${animal}`),
  id.map((animal) => `update animals set away = not away where id < ${animal}`),
  id.map((animal) => `delete from animals where id > ${animal}`),
  fc.tuple(id, owner, fc.boolean()).map(
    ([
      fish,
      of,
      isShown,
    ]) => `insert into fish select n, ${of}, ${isShown}, 1 from generate_series(${fish}, ${fish} + 3) n
        on conflict (id) do update set owner_id = excluded.owner_id, is_shown = excluded.is_shown`,
  ),
  fc.tuple(id, owner).map(([fish, of]) => `update fish set owner_id = ${of}, weight = 2 where id < ${fish}`),
  id.map((fish) => `update fish set is_shown = not is_shown, owner_id = 3 - owner_id where id > ${fish}`),
  id.map((fish) => `delete from fish where id > ${fish}`),
);
const writes = fc.array(fc.record({ change, isRolledBack: fc.boolean() }), { maxLength: 12 });

test("a total equals the count at every moment, beside writes, rollbacks and folds", async () => {
  const write = async ({ change: text, isRolledBack }: { change: string; isRolledBack: boolean }) => {
    const work = async (transaction: Transaction) => {
      // Rows are locked by one writer at a time: this is not about deadlocks.
      await transaction.query({ text: "select pg_advisory_xact_lock(1)" }, []);
      await transaction.query({ text }, []);
      if (isRolledBack) throw new Error("rolled back");
    };
    await database.transaction(backgroundDeadline(), work).catch((error) => {
      if (error.message !== "rolled back") throw error;
    });
    await foldTotals(database);
    await assertRight();
  };
  const writer = async (own: { change: string; isRolledBack: boolean }[]) => {
    for (const one of own) await write(one);
  };
  await fc.assert(
    fc.asyncProperty(writes, writes, async (one, other) => {
      await Promise.all([writer(one), writer(other)]);
      assert.equal(await repairTotals(database, TOTALS, log), 0);
    }),
    { numRuns: 20 },
  );
});

test("an update writes to no total unless it changes a column that one is kept by", async () => {
  await run("insert into fish values (500, 1, true, 1), (501, 2, true, 1)");
  await foldTotals(database);
  const rows = async () =>
    (await run("select of, key, change from totals order by 1, 2, 3")).map((row) => JSON.stringify(row));
  const before = await rows();
  await run("update fish set weight = weight + 1");
  await run("update fish set owner_id = owner_id, is_shown = is_shown");
  assert.deepEqual(await rows(), before);
  await run("update fish set owner_id = 2 where id = 500");
  assert.equal((await rows()).length, before.length + 2);
  await assertRight();
});

test("no total is kept of a value that no row of a column can have", () => {
  const [ofOwner, ofShown] = OF_FISH;
  assert.ok(ofOwner && ofShown);
  for (const value of ["0", "-1", "1.5", "", "2147483648", "x", true])
    assert.equal(totalByColumn(ofOwner, value), undefined, String(value));
  for (const value of [null, "1", "true"]) assert.equal(totalByColumn(ofShown, value), undefined);
});

test("changes of a total are folded into one row, and nothing is left of a total of none", async () => {
  for (let count = 0; count < 10; count += 1) await run(`insert into plants values (${2_000 + count})`);
  await run("insert into animals values (100, 7, false)");
  await run("delete from animals where kind = 7");
  await foldTotals(database);
  const rows = await run("select of, count(*) from totals where of = 'plants' or key = 7 group by of, key");
  assert.deepEqual(rows, [{ of: "plants", count: "1" }]);
  await assertRight();
});

test("a total that is wrong is repaired, and no other is touched", async () => {
  await run("insert into totals values ('plants', 0, 5), ('animals', 9, 1)");
  assert.equal(await repairTotals(database, TOTALS, log), 2);
  await assertRight();
  assert.equal(await repairTotals(database, TOTALS, log), 0);
});
