import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { type Database, openDatabase } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import { badRequest, Code, type Fault } from "@tidings/rpc/fault";
import { createLog } from "@tidings/runtime/log";
import { createTestDatabase, queryAsSuperuser, type TestDatabase } from "@tidings/testkit/postgres";
import { ALONE, type CarryOut, type Command, carryOutOnce } from "./once.ts";

let testDatabase: TestDatabase;
let database: Database;

before(async () => {
  testDatabase = await createTestDatabase();
  await queryAsSuperuser(
    testDatabase,
    `create table contact.test_balance (balance integer not null);
     insert into contact.test_balance values (0); grant all on contact.test_balance to tidings_template_contact`,
  );
  database = openDatabase({ url: testDatabase.url("contact"), log: createLog("test", "silent") });
});
after(async () => {
  await database.close();
  await testDatabase.drop();
});
beforeEach(() => query("delete from command_keys"));
beforeEach(() => query("update test_balance set balance = 0"));

const deadline = () => Date.now() + 20_000;
const query = (text: string, values: unknown[] = []) => database.query({ text }, values, deadline());

interface Add extends Command {
  amount: number;
}
const add = (key: string, amount: number): Add => ({ key, amount, fingerprint: `add ${amount}` });

/** Adds to the balance. 13 is refused; 500 makes the database fail. */
const carryOut: CarryOut<Add, number> = async (transaction, commands) => {
  for (const { amount } of commands)
    if (amount === 500) await transaction.query({ text: "select 1 / 0" });
    else if (amount !== 13)
      await transaction.query({ text: "update test_balance set balance = balance + $1" }, [amount]);
  return commands.map(({ amount }) =>
    amount === 13 ? { fault: badRequest("Thirteen is refused.") } : { value: amount },
  );
};
const send = (commands: Add[], work = carryOut) =>
  carryOutOnce(database, commands, work, { deadlineMs: deadline() });
const balance = async () => Number((await query("select balance from test_balance"))[0]?.balance);
const textOf = (outcome: { value: number } | { fault: Fault }) =>
  "value" in outcome ? String(outcome.value) : `${outcome.fault.reason}: ${outcome.fault.message}`;

test("a command that is to be alone is carried out after the others in a transaction of its own, once", async () => {
  const transactions: number[][] = [];
  const inTurn: CarryOut<Add, number> = async (transaction, commands) => {
    transactions.push(commands.map(({ amount }) => amount));
    const isAlone = ({ amount }: Add) => amount < 0 && commands.length > 1;
    const outcomes = await carryOut(
      transaction,
      commands.filter((command) => !isAlone(command)),
    );
    return commands.map((command) => (isAlone(command) ? ALONE : (outcomes.shift() ?? ALONE)));
  };
  const commands = [add("a", -1), add("b", 5), add("a", -1), add("c", -2), add("d", 13)];
  for (let time = 0; time < 2; time += 1)
    assert.deepEqual((await send(commands, inTurn)).map(textOf), [
      ...["-1", "5", "-1", "-2"],
      "BAD_REQUEST: Thirteen is refused.",
    ]);
  assert.deepEqual(transactions, [[5, -1, -2, 13], [-1], [-2]]);
  assert.equal(await balance(), 2);
});

test("a command takes effect once, and its outcome is answered again, a refusal too", async () => {
  const commands = [add("a", 1), add("b", 13), add("c", 3)];
  const first = await send(commands);
  const second = await send([...commands, add("d", 4)]);
  assert.deepEqual(first.map(textOf), ["1", "BAD_REQUEST: Thirteen is refused.", "3"]);
  assert.deepEqual(second.map(textOf), [...first.map(textOf), "4"]);
  assert.equal(await balance(), 8);
});

test("64 parallel calls with the same keys take effect once", async () => {
  const commands = Array.from({ length: 50 }, (_, index) => add(`key ${index}`, 1));
  const all = await Promise.all(Array.from({ length: 64 }, () => send(commands)));
  assert.equal(await balance(), 50);
  assert.ok(all.flat().every((outcome) => textOf(outcome) === "1"));
});

test("a key that is sent twice in one call takes effect once", async () => {
  assert.deepEqual((await send([add("a", 2), add("a", 2)])).map(textOf), ["2", "2"]);
  assert.equal(await balance(), 2);
});

test("a key that was used for another command is refused", async () => {
  await send([add("a", 2)]);
  const [outcome] = await send([add("a", 3)]);
  assert.match(outcome ? textOf(outcome) : "", /^KEY_REUSED/);
  assert.equal(await balance(), 2);
});

test("a command that makes the transaction fail fails alone, and stays failed", async () => {
  const commands = [add("a", 1), add("b", 500), add("c", 1), add("d", 1)];
  const outcomes = await send(commands);
  assert.deepEqual(
    outcomes.map((outcome) => "value" in outcome),
    [true, false, true, true],
  );
  assert.deepEqual((await send(commands)).map(textOf), outcomes.map(textOf));
  assert.equal(await balance(), 3);
});

test("when the transaction is lost nothing is kept, and the same commands take effect later", async () => {
  const lost = async (transaction: Transaction, commands: Add[]) => {
    await carryOut(transaction, commands);
    await transaction.query({ text: "select pg_terminate_backend(pg_backend_pid())" });
    return [];
  };
  await assert.rejects(send([add("a", 1)], lost), { code: Code.UNAVAILABLE });
  assert.equal(await balance(), 0);
  await send([add("a", 1)]);
  assert.equal(await balance(), 1);
});

test("a key of the month before is known, and one of two months ago is not", async () => {
  const earlier = (months: number) =>
    query(
      `insert into command_keys values ($1, (date_trunc('month', now() at time zone 'UTC') - make_interval(months => $2))::date,
         'add 1', '{"value": 1}')`,
      [`${months} months`, months],
    );
  await Promise.all([earlier(1), earlier(2)]);
  await send([add("1 months", 1), add("2 months", 1)]);
  assert.equal(await balance(), 1);
});
