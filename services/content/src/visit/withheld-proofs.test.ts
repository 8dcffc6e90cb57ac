import assert from "node:assert/strict";
import { after, test } from "node:test";
import { openDatabase } from "@tidings/database/database";
import { stepJobs } from "@tidings/jobs/run-jobs";
import { createLog } from "@tidings/runtime/log";
import { createTestDatabase, queryAsSuperuser } from "@tidings/testkit/postgres";
import { identification, planIdentifications } from "./identify.ts";
import { seeVisitors } from "./visitors.ts";

/** The proof of a device, while it is found out whose values its visitor has sent, and afterwards. */

const testDatabase = await createTestDatabase();
const log = createLog("test", "silent");
const database = openDatabase({ url: testDatabase.url("content"), log });
after(async () => {
  await database.close();
  await testDatabase.drop();
});
const ids = { take: () => Promise.reject(new Error("no browser is new")) };
const deviceOf = (name: string) => name.padEnd(23, "0");

/** Each device with its contact, which it has proven to be. */
async function devicesOf(contacts: Record<string, number>): Promise<void> {
  for (const [name, contactId] of Object.entries(contacts))
    await queryAsSuperuser(
      testDatabase,
      `insert into content.visitor_devices (id, contact_id, shown_contact_id, last_seen)
       values ('${deviceOf(name)}', ${contactId}, ${contactId}, now())`,
    );
}

/** The contact whose values a page may show to a device; undefined where there is none. */
async function read(name: string): Promise<number | undefined> {
  const sighting = {
    ...{ deviceId: deviceOf(name), isNewDevice: false, at: Date.now(), ip: "", userAgent: "" },
    ...{ timeZone: "", locale: "", url: "", referer: "", remoteHost: "", query: {} },
  };
  const { visitors } = await database.transaction(Date.now() + 20_000, (transaction) =>
    seeVisitors(transaction, ids, [sighting]),
  );
  const visitor = visitors.get(sighting.deviceId);
  return visitor?.mayRead ? visitor.contactId : undefined;
}

let hits = 0;
/** The visitor of a device sends a value, and the contact service answers with this outcome; `meanwhile` runs once it has, before that is known here. */
async function say(
  { name, contactId, count = 1 }: { name: string; contactId: number; count?: number },
  outcomes: { contactId: number; isFound: boolean; isApart: boolean }[],
  meanwhile: () => Promise<void>,
): Promise<void> {
  await database.transaction(Date.now() + 20_000, async (transaction) =>
    planIdentifications(
      transaction,
      Array.from({ length: count }, () => ({
        ...{ occasion: `hit ${++hits}`, deviceId: deviceOf(name), contactId, newContactId: 900 + hits },
        ...{ values: { email: "victim@proofs.example" }, tags: "", proof: "query" as const },
      })),
    ),
  );
  const carryOutCommands = async () => {
    await meanwhile();
    return { outcomes };
  };
  const upstreams = { client: () => ({ carryOutCommands }) } as never;
  assert.deepEqual(await stepJobs(identification(database, log, upstreams)), { state: "done" });
}

const merge = (id: number, survivor: number) =>
  queryAsSuperuser(testDatabase, `insert into content.contact_fates values (${id}, ${survivor})`);

test("a device that says another contact's value reads nothing from then on, nor do its contact's other devices", async () => {
  await devicesOf({ attacker: 1, second: 1, victim: 2 });
  assert.deepEqual([await read("attacker"), await read("second")], [1, 1]);
  await say(
    { name: "attacker", contactId: 1 },
    [{ contactId: 2, isFound: true, isApart: false }],
    async () => {
      await merge(1, 2);
      assert.deepEqual([await read("attacker"), await read("second")], [undefined, undefined]);
    },
  );
  assert.deepEqual(
    [await read("attacker"), await read("second"), await read("victim")],
    [undefined, undefined, 2],
  );
});

test("the same holds where the known contact became a part of the visitor's, as by a form", async () => {
  await devicesOf({ sender: 11, another: 11, known: 12 });
  await say(
    { name: "sender", contactId: 11 },
    [{ contactId: 11, isFound: true, isApart: false }],
    async () => {
      assert.deepEqual([await read("sender"), await read("another")], [undefined, undefined]);
      await merge(12, 11);
    },
  );
  assert.deepEqual(
    [await read("sender"), await read("another"), await read("known")],
    [undefined, undefined, 11],
  );
});

test("a device of a contact that was merged before loses its proof with the others", async () => {
  await devicesOf({ early: 21, late: 22 });
  await merge(21, 22);
  assert.equal(await read("early"), 22);
  await say({ name: "late", contactId: 22 }, [{ contactId: 23, isFound: true, isApart: false }], async () =>
    assert.equal(await read("early"), undefined),
  );
  assert.equal(await read("early"), undefined);
});

test("where nobody else was found the proof is given back, and where nothing was merged to the other devices", async () => {
  await devicesOf({ own: 31, shared: 32, elsewhere: 32 });
  await say({ name: "own", contactId: 31 }, [{ contactId: 31, isFound: false, isApart: false }], async () =>
    assert.equal(await read("own"), undefined),
  );
  assert.equal(await read("own"), 31);
  await say(
    { name: "shared", contactId: 32 },
    [{ contactId: 33, isFound: true, isApart: true }],
    async () => undefined,
  );
  assert.deepEqual([await read("shared"), await read("elsewhere")], [undefined, 32]);
});

test("a device that found a contact and then said more of itself is not proven by the latter", async () => {
  await devicesOf({ twice: 41 });
  const outcomes = [
    { contactId: 42, isFound: true, isApart: false },
    { contactId: 42, isFound: false, isApart: false },
  ];
  await say({ name: "twice", contactId: 41, count: 2 }, outcomes, async () => undefined);
  assert.equal(await read("twice"), undefined);
  assert.deepEqual(
    await database.query({ text: "select key from withheld_proofs" }, [], Date.now() + 20_000),
    [],
  );
});
