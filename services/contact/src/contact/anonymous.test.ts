import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { backgroundDeadline } from "@tidings/database/database";
import { stepJobs } from "@tidings/jobs/run-jobs";
import { UpdateContactRequestSchema } from "@tidings/proto/tidings/contact/v1/contact_service";
import { createLog } from "@tidings/runtime/log";
import { queryAsSuperuser } from "@tidings/testkit/postgres";
import { callAs, contactBody, contactScene } from "../testing/contact-scene.ts";
import { anonymousContacts } from "./anonymous.ts";
import { addNewContacts } from "./new-contacts.ts";

/** Contacts that began with a visit, and never said who they are. */

let scene: Awaited<ReturnType<typeof contactScene>>;
before(async () => {
  scene = await contactScene();
});
after(() => scene.close());

const query = (text: string) => queryAsSuperuser(scene.testDatabase, text);
const DAY_MS = 86_400_000;

/** Begins contacts that were on the web so many days ago. */
async function visited(days: number, count = 1): Promise<number[]> {
  const { context } = scene;
  const { contact: set } = await context.catalogues.current();
  const rows = await query(
    `select nextval('contact.contacts_id_seq')::int as id from generate_series(1, ${count})`,
  );
  const ids = rows.map(({ id }) => Number(id));
  await context.database.transaction(backgroundDeadline(), (transaction) =>
    addNewContacts(
      context,
      { transaction, set },
      ids.map((id) => ({ id, at: Date.now() - days * DAY_MS })),
    ),
  );
  return ids;
}

async function edit(id: number, values: Record<string, unknown>): Promise<void> {
  const contact = contactBody(values);
  const request = create(UpdateContactRequestSchema, { id, contact, updateMask: { paths: ["values"] } });
  await scene.handlers.updateContact(request, callAs());
  // As a visitor's own edit, a long time ago.
  await query(
    `update contact.contacts set modified_by = null, last_active = now() - interval '400 days' where id = ${id}`,
  );
}

/** One pass over all contacts. */
async function pass(days: number): Promise<void> {
  const options = anonymousContacts({ ...scene.context, log: createLog("test", "silent") }, { days });
  for (;;) {
    await query("update contact.jobs set due_at = now() where kind = 'anonymous_contacts'");
    await stepJobs(options);
    const [job] = await query(
      "select payload ->> 'after' as after from contact.jobs where kind = 'anonymous_contacts'",
    );
    if (!job?.after) return;
  }
}

async function left(ids: number[]): Promise<number[]> {
  const rows = await query(`select id from contact.contacts where id in (${ids.join(", ")}) order by id`);
  return rows.map(({ id }) => Number(id));
}

test("a pass deletes inactive anonymous contacts with an event each, and no known, active or edited one", async () => {
  const inactive = await visited(366, 1_200);
  const [active = 0] = await visited(364);
  const [named = 0, numbered = 0, edited = 0] = await visited(400, 3);
  await edit(named, { firstname: "Ada" });
  await query(
    `insert into contact.contact_identifiers (field, value, contact_id) values ('customer', '17', ${numbered})`,
  );
  await query(`update contact.contacts set modified_by = 1 where id = ${edited}`);
  const made = await scene.handlers.createContact(
    { $typeName: "tidings.contact.v1.CreateContactRequest", contact: contactBody({ city: "Rome" }) },
    callAs(),
  );
  const byApi = made.contact?.id as number;
  await query(`update contact.contacts set last_active = now() - interval '400 days' where id = ${byApi}`);
  await pass(365);
  assert.deepEqual(await left(inactive), []);
  const kept = [active, named, numbered, edited, byApi];
  assert.deepEqual(
    await left(kept),
    kept.toSorted((one, other) => one - other),
  );
  const [events] = await query(
    `select count(distinct aggregate_id)::int as count from contact.outbox where subject = 'tidings.contact.contact.deleted'
     and aggregate_id in (${inactive.join(", ")})`,
  );
  assert.equal(events?.count, inactive.length);
});

test("with 0 days nobody is deleted", async () => {
  const old = await visited(4_000);
  await pass(0);
  assert.deepEqual(await left(old), old);
});
