import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Code, Fault } from "@tidings/rpc/fault";
import { createLog } from "@tidings/runtime/log";
import { eventually } from "@tidings/testkit/eventually";
import {
  createTestDatabase,
  queryAsSuperuser,
  type TestDatabase,
  terminateBackends,
} from "@tidings/testkit/postgres";
import { startProxy } from "@tidings/testkit/proxy";
import { type Database, openDatabase } from "./database.ts";
import { violatedConstraint } from "./failure.ts";
import type { Transaction } from "./transaction.ts";

const log = createLog("test", "silent");
let testDatabase: TestDatabase;
let database: Database;

before(async () => {
  testDatabase = await createTestDatabase();
  database = openDatabase({ url: testDatabase.url("contact"), log, connectionsMax: 10 });
});
after(async () => {
  await database.close();
  await testDatabase.drop();
});

/** Less than the statement would take: that it ends before shows that it was ended. */
const A_BUSY_MACHINE = { timeoutMs: 120_000 };
const soon = () => Date.now() + 5_000;
const hasCode = (code: Code) => (error: unknown) => error instanceof Fault && error.code === code;
const insert = (tag: string) => ({ text: `insert into tags (tag) values ('${tag}')` });

async function tags(prefix: string): Promise<string[]> {
  const text = `select tag from tags where tag like '${prefix}%' order by tag`;
  return (await database.query({ text }, [], soon())).map(({ tag }) => tag ?? "");
}

async function run<T>(work: (transaction: Transaction) => Promise<T>): Promise<T> {
  return database.transaction(soon(), work);
}

test("a statement ends with the deadline of its call, in the database too", async () => {
  const slow = database.query({ text: "select pg_sleep(600)" }, [], Date.now() + 300);
  await assert.rejects(slow, hasCode(Code.DEADLINE_EXCEEDED));
  await eventually(async () => {
    const text =
      "select 1 from pg_stat_activity where query like '%pg_sleep(600)%' and state = 'active' and pid <> pg_backend_pid()";
    assert.deepEqual(await database.query({ text }, [], Date.now() + 60_000), []);
  }, A_BUSY_MACHINE);
});

test("a connection that goes deaf fails its statements soon after their deadline, and the pool recovers", async (t) => {
  const proxy = await startProxy(testDatabase.url("contact"));
  t.after(proxy.stop);
  const deaf = openDatabase({ url: proxy.url, log, connectionsMax: 2 });
  t.after(deaf.close);
  assert.equal(await deaf.ping(), true);
  proxy.goDeaf();
  const startedAt = performance.now();
  const answers = await Promise.allSettled([
    deaf.query({ text: "select 1" }, [], Date.now() + 500),
    deaf.transaction(Date.now() + 500, (transaction) => transaction.query({ text: "select 1" })),
    deaf.ping(),
  ]);
  assert.ok(answers.every(({ status }) => status === "rejected"));
  assert.ok(performance.now() - startedAt < 10_000);
  proxy.recover();
  await eventually(async () => assert.equal(await deaf.ping(), true), { timeoutMs: 10_000 });
});

test("a value larger than Postgres takes is INVALID_ARGUMENT", async () => {
  const ids = Array.from({ length: 70_000 }, (_, index) => index);
  const text = `select 1 where 1 in (${ids.map((id) => `$${id + 1}`)})`;
  await assert.rejects(database.query({ text }, ids, soon()), hasCode(Code.INVALID_ARGUMENT));
  const large =
    "insert into tags (tag) select string_agg(md5(n::text), '') from generate_series(1, 1000) as n";
  await assert.rejects(database.query({ text: large }, [], soon()), hasCode(Code.INVALID_ARGUMENT));
});

test("a call whose deadline is over is not begun", async () => {
  await assert.rejects(
    database.query({ text: "select 1" }, [], Date.now() - 1),
    hasCode(Code.DEADLINE_EXCEEDED),
  );
});

test("the writes of a transaction are visible when it has ended, and listeners run then", async () => {
  let seen: string[] | undefined;
  await run(async (transaction) => {
    transaction.execute(insert("both 1"));
    transaction.execute(insert("both 2"));
    transaction.afterCommit(() => {
      seen = [];
    });
    assert.equal(seen, undefined);
  });
  assert.deepEqual(seen, []);
  assert.deepEqual(await tags("both"), ["both 1", "both 2"]);
});

test("a statement that nobody waited for fails the transaction with all it wrote", async () => {
  let isTold = false;
  const failing = run(async (transaction) => {
    transaction.execute(insert("half 1"));
    transaction.execute(insert("half 1"));
    transaction.afterCommit(() => {
      isTold = true;
    });
  });
  await assert.rejects(failing, (error) => violatedConstraint(error) === "tags_tag_key");
  assert.equal(isTold, false);
  assert.deepEqual(await tags("half"), []);
});

test("a transaction of one trip is whole or fails as a whole, and its COMMIT does not wait for the answers of its statements", async () => {
  const oneTrip = <T>(work: (transaction: Transaction) => Promise<T>) =>
    database.transaction(soon(), work, { isOneTrip: true });
  const written = oneTrip(({ execute, query }) => {
    execute(insert("trip 1"));
    return query({ text: "insert into tags (tag) values ('trip 2') returning tag" });
  });
  assert.deepEqual(await written, [{ tag: "trip 2" }]);
  const failing = oneTrip(({ execute, query }) => {
    execute(insert("trip 3"));
    return query(insert("trip 1"));
  });
  await assert.rejects(failing, (error) => violatedConstraint(error) === "tags_tag_key");
  assert.deepEqual(await tags("trip"), ["trip 1", "trip 2"]);
  // A statement that waits for an answer comes behind the COMMIT.
  const late = oneTrip(async ({ query }) => {
    await query(insert("trip 4"));
    return query({ text: "select pg_current_xact_id_if_assigned()::text as id" });
  });
  assert.deepEqual(await late, [{ id: null }]);
  assert.deepEqual(await tags("trip"), ["trip 1", "trip 2", "trip 4"]);
});

test("a failure of the work rolls back, and the connection is good for the next", async () => {
  const failing = run(async (transaction) => {
    transaction.execute(insert("undone"));
    throw new Error("changed my mind");
  });
  await assert.rejects(failing, /changed my mind/);
  assert.deepEqual(await tags("undone"), []);
});

test("two transactions that lock each other out both succeed", async () => {
  await run(async (transaction) => {
    transaction.execute(insert("lock a"));
    transaction.execute(insert("lock b"));
  });
  const lock = (tag: string) => ({ text: `update tags set version = version + 1 where tag = 'lock ${tag}'` });
  const crossed = (first: string, second: string, met: Promise<void>) =>
    run(async (transaction) => {
      await transaction.query(lock(first));
      await met;
      await transaction.query(lock(second));
    });
  let meet: () => void = () => undefined;
  const met = new Promise<void>((resolve) => {
    meet = resolve;
  });
  const both = [crossed("a", "b", met), crossed("b", "a", met)];
  await eventually(async () => {
    const text =
      "select count(*) as n from pg_stat_activity where state = 'idle in transaction' and query like '%lock %'";
    const [row] = await database.query({ text }, [], soon());
    assert.equal(row?.n, "2");
  });
  meet();
  await Promise.all(both);
  const text = "select version from tags where tag like 'lock %'";
  assert.deepEqual(
    (await database.query({ text }, [], soon())).map(({ version }) => version),
    ["3", "3"],
  );
});

test("bad values are the caller's fault, lost connections are nobody's, and both leave a working pool", async () => {
  await assert.rejects(
    database.query({ text: "select 'x'::integer" }, [], soon()),
    hasCode(Code.INVALID_ARGUMENT),
  );
  const waiting = database.query({ text: "select pg_sleep(20)" }, [], Date.now() + 20_000);
  const lost = assert.rejects(waiting, hasCode(Code.UNAVAILABLE));
  await eventually(async () => {
    const text = "select 1 from pg_stat_activity where query = 'select pg_sleep(20)' and state = 'active'";
    assert.equal((await database.query({ text }, [], soon())).length, 1);
  });
  await terminateBackends(testDatabase);
  await lost;
  await eventually(async () =>
    assert.deepEqual({ ...(await database.query({ text: "select 1 as one" }, [], soon()))[0] }, { one: "1" }),
  );
});

test("a role sees no schema but its own", async () => {
  await assert.rejects(database.query({ text: "select * from webhook.webhooks" }, [], soon()));
});

test("a prepared statement answers the same columns each time, after an error too, and with no rows none", async () => {
  const statement = {
    name: "test_columns",
    text: `select n as "a b", n as n, null as "1" from generate_series(1, 10 / $1::integer) n`,
  };
  const ask = (divisor: number) => database.query(statement, [divisor], soon());
  const one = [{ "a b": "1", n: "1", "1": null }];
  assert.deepEqual(await ask(10), one);
  assert.deepEqual(await ask(10), one);
  await assert.rejects(ask(0), hasCode(Code.INVALID_ARGUMENT));
  const [first, none, last] = await Promise.all([ask(10), ask(11), ask(10)]);
  assert.deepEqual([first, none, last], [one, [], one]);
});

test("a savepoint that fails is taken back, and the transaction goes on", async () => {
  await run(async (transaction) => {
    transaction.execute(insert("savepoint-1"));
    const failed = transaction.savepoint(async (part) => {
      part.execute(insert("savepoint-2"));
      part.execute(insert("savepoint-1"));
    });
    await assert.rejects(failed, (error) => violatedConstraint(error) !== undefined);
    await transaction.savepoint(async (part) => part.execute(insert("savepoint-3")));
  });
  assert.deepEqual(await tags("savepoint-"), ["savepoint-1", "savepoint-3"]);
});

test("enclosed work is one transaction: all that it does with the database, or nothing", async () => {
  const heard: string[] = [];
  const work = (tag: string) =>
    Promise.all(
      [`${tag}-1`, `${tag}-2`].map((name) =>
        database.transaction(soon(), async (transaction) => {
          transaction.execute(insert(name));
          transaction.afterCommit(() => heard.push(name));
        }),
      ),
    );
  const failing = database.enclose(soon(), async () => {
    await work("enclosed-lost");
    assert.deepEqual(await tags("enclosed-lost"), ["enclosed-lost-1", "enclosed-lost-2"]);
    assert.deepEqual(await database.outside(() => tags("enclosed-lost")), []);
    throw new Error("after all");
  });
  await assert.rejects(failing, /after all/);
  await database.enclose(soon(), () => work("enclosed-kept"));
  assert.deepEqual(await tags("enclosed-"), ["enclosed-kept-1", "enclosed-kept-2"]);
  assert.deepEqual(heard, ["enclosed-kept-1", "enclosed-kept-2"]);
});

test("a transaction that fails within enclosed work can be made up for", async () => {
  await database.enclose(soon(), async () => {
    await database.query(insert("made-up-for"), [], soon());
    await database
      .transaction(soon(), (transaction) => transaction.query(insert("made-up-for")))
      .catch(() => database.query(insert("made-up-for-2"), [], soon()));
  });
  assert.deepEqual(await tags("made-up-for"), ["made-up-for", "made-up-for-2"]);
});

test("half of the connections at most have enclosed work: the others are free", async () => {
  const { promise: isOver, resolve: end } = Promise.withResolvers<void>();
  const enclosed = Array.from({ length: 20 }, () => database.enclose(soon(), () => isOver));
  assert.deepEqual(await tags("nothing"), []);
  end();
  await Promise.all(enclosed);
});

test("enclosed work that nobody waits for goes on outside of the transaction", async () => {
  const { promise: isOver, resolve: end } = Promise.withResolvers<void>();
  let late: Promise<unknown> | undefined;
  await database.enclose(soon(), async () => {
    late = isOver.then(() => database.query(insert("late"), [], soon()));
  });
  end();
  await late;
  assert.deepEqual(await tags("late"), ["late"]);
});

test("times are those of UTC, and a day has 24 hours, on a server with another time zone and form of dates", async (t) => {
  const zoned = await createTestDatabase();
  t.after(zoned.drop);
  const [row] = await queryAsSuperuser(zoned, "select current_database() as name");
  for (const setting of ["timezone = 'Australia/Lord_Howe'", "datestyle = 'SQL, DMY'"])
    await queryAsSuperuser(zoned, `alter database ${row?.name} set ${setting}`);
  const [usual] = await queryAsSuperuser(
    zoned,
    "select now()::text as now, current_setting('timezone') as zone",
  );
  assert.equal(usual?.zone, "Australia/Lord_Howe");
  assert.doesNotMatch(String(usual?.now), /^\d{4}-/);
  const own = openDatabase({ url: zoned.url("contact"), log, connectionsMax: 1 });
  t.after(own.close);
  const text = `select timestamptz '2027-04-04 01:00:00+11' as written, timestamptz '2027-04-04 12:00:00+00' - interval '1 day' as a_day_before,
    timestamptz '2027-10-03 12:00:00+00' - interval '1 week' as a_week_before, date_trunc('month', timestamptz '2027-04-30 20:00:00+00') as month`;
  assert.deepEqual(
    { ...(await own.query({ text }, [], soon()))[0] },
    {
      written: "2027-04-03 14:00:00+00",
      a_day_before: "2027-04-03 12:00:00+00",
      a_week_before: "2027-09-26 12:00:00+00",
      month: "2027-04-01 00:00:00+00",
    },
  );
});
