import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { backgroundDeadline, type Database, openDatabase } from "@tidings/database/database";
import type { Claimed } from "@tidings/jobs/queue";
import { createLog } from "@tidings/runtime/log";
import { createTestDatabase, queryAsSuperuser, type TestDatabase } from "@tidings/testkit/postgres";
import { keepAddressRefusal } from "./address-refusals.ts";
import { addressNoter } from "./note-address.ts";
import { keepRefusals, type Refusal, RefusalReason } from "./refusals.ts";
import { directLane, type Send } from "./send-queue.ts";

const [SURVIVOR, MERGED, OTHER, ERASED] = [1, 2, 3, 4];

let testDatabase: TestDatabase;
let database: Database;
before(async () => {
  testDatabase = await createTestDatabase();
  database = openDatabase({ url: testDatabase.url("content"), log: createLog("test", "silent") });
  await run(
    `insert into contact_fates (contact_id, merged_into_id) values (${MERGED}, ${SURVIVOR}), (${OTHER}, ${SURVIVOR}), (${ERASED}, null)`,
  );
});
after(async () => {
  await database.close();
  await testDatabase.drop();
});
beforeEach(() =>
  run(
    "delete from sends; delete from send_refusals; delete from refused_addresses; delete from jobs where kind = 'send_refusal'",
  ),
);

const run = (text: string) => queryAsSuperuser(testDatabase, `set search_path = content; ${text}`);
const rows = (text: string) => queryAsSuperuser(testDatabase, text);

const keep = (contactId: number, reason: Refusal["reason"] = RefusalReason.UNSUBSCRIBED) =>
  database.transaction(backgroundDeadline(), (transaction) =>
    keepRefusals(transaction, [
      { contactId, channel: "email", reason, channelId: undefined, comments: "User unsubscribed." },
    ]),
  );

interface Addresses {
  /** The address that was chosen. */
  address?: string;
  /** The address that the mail was written to, where none was chosen. */
  noted?: string;
}

/** Does a direct send to a contact begin? */
async function begins(contactId: number, { address, noted }: Addresses = {}): Promise<boolean> {
  const [row] = await rows(
    `insert into content.sends (hash, email_id, email_version, family_id, contact_id, chosen_contact_id, occasion, lane, address)
     values (gen_random_uuid(), 1, 1, 1, ${contactId}, ${contactId}, gen_random_uuid()::text, 0, ${address ? `'${address}'` : "null"}) returning id::text`,
  );
  const claimed: Claimed = {
    ...{ id: String(row?.id), leaseToken: 0, group: 1, attempts: 0, isOrdered: false, isFailing: false },
  };
  if (noted !== undefined) await addressNoter(database, "sends")({ ...claimed, address }, noted);
  return (await directLane.starts.begin(database, [claimed as Send])).size === 1;
}

const ALL = [SURVIVOR, MERGED, OTHER];
const beginning = () => Promise.all(ALL.map((id) => begins(id)));

test("no send begins to a contact after an unsubscribe by the link of a contact that was merged into it", async () => {
  assert.deepEqual(await beginning(), [true, true, true]);
  await keep(MERGED);
  assert.deepEqual(await beginning(), [false, false, false]);
  assert.deepEqual(await rows("select contact_id from content.send_refusals"), [{ contact_id: SURVIVOR }]);
  await keep(MERGED, RefusalReason.NONE);
  assert.deepEqual(await beginning(), [true, true, true]);
});

test("an unsubscribe before a merge holds for the survivor at once, before the row has moved", async () => {
  await run(`insert into send_refusals (contact_id, channel, reason) values (${MERGED}, 'email', 1)`);
  assert.deepEqual(await beginning(), [false, false, false]);
});

test("a subscription that is taken up again by the survivor holds for refusals of before the merge", async () => {
  await run(`insert into send_refusals (contact_id, channel, reason) values (${MERGED}, 'email', 1)`);
  await keep(SURVIVOR, RefusalReason.NONE);
  assert.deepEqual(await beginning(), [true, true, true]);
});

test("an unsubscribe of an erased contact is kept for nobody", async () => {
  await keep(ERASED);
  assert.deepEqual(await rows("select contact_id from content.send_refusals"), []);
  assert.deepEqual(await rows("select key from content.jobs where kind = 'send_refusal'"), []);
});

test("an unsubscribe holds for another contact with the same address, until its contact takes it back or is erased", async () => {
  const [twin, stranger] = [11, 12];
  await begins(SURVIVOR, { address: "Ada@example.org" });
  assert.equal(await begins(twin, { address: "ada@example.org" }), true);
  await keep(SURVIVOR);
  assert.equal(await begins(twin, { address: "ADA@example.org" }), false);
  assert.equal(await begins(stranger, { address: "grace@example.org" }), true);
  await keep(SURVIVOR, RefusalReason.NONE);
  assert.equal(await begins(twin, { address: "ada@example.org" }), true);
});

test("an unsubscribe holds for a direct send to another contact with the same address, which its mail was just written to", async () => {
  const twin = 14;
  await begins(SURVIVOR, { address: "eve@example.org" });
  assert.equal(await begins(twin, { noted: "Eve@example.org" }), true);
  await keep(SURVIVOR);
  assert.equal(await begins(twin, { noted: "Eve@example.org" }), false);
  await keep(SURVIVOR, RefusalReason.NONE);
});

test("an address that a reader refused who is no contact here is not written to", async () => {
  await database.transaction(backgroundDeadline(), async (transaction) =>
    keepAddressRefusal(transaction, { address: "Former@example.org", comments: "User unsubscribed." }),
  );
  assert.equal(await begins(13, { address: "former@EXAMPLE.org" }), false);
  const [job, ...more] = await rows(
    "select payload ->> 'address' as address from content.jobs where kind = 'address_refusal'",
  );
  assert.deepEqual([job?.address, more], ["Former@example.org", []]);
});
