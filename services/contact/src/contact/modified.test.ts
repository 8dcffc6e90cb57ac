import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { backgroundDeadline } from "@tidings/database/database";
import {
  BatchCreateContactsRequestSchema,
  CreateContactRequestSchema,
  ListContactsRequestSchema,
} from "@tidings/proto/tidings/contact/v1/contact_service";
import { callAs, contactBody, contactScene, listQuery } from "../testing/contact-scene.ts";

/** The time of the last modification stands beside the contact, so that a change leaves the indexes of contacts as they are. */

const COUNT = 12;

let scene: Awaited<ReturnType<typeof contactScene>>;
before(async () => {
  scene = await contactScene();
  const requests = Array.from({ length: COUNT }, (_, index) =>
    create(CreateContactRequestSchema, { contact: contactBody({ firstname: `Contact ${index}` }) }),
  );
  await scene.handlers.batchCreateContacts(create(BatchCreateContactsRequestSchema, { requests }), callAs());
});
after(() => scene.close());

function run(text: string) {
  return scene.context.database.query({ text }, [], backgroundDeadline());
}

async function idsBy(descending: boolean): Promise<number[]> {
  const query = listQuery({ order: [{ column: "dateModified", descending }], idsOnly: true });
  return (
    (await scene.handlers.listContacts(create(ListContactsRequestSchema, { query }), callAs())).ids ?? []
  );
}

test("a change of what has no index writes no entry of any index of contacts", async () => {
  const hot = await scene.context.database.transaction(backgroundDeadline(), async (transaction) => {
    await transaction.query(
      {
        text: "update contacts set version = version + 1, points = 3, fax = '1', date_modified = now() where id = 1",
      },
      [],
    );
    return transaction.query(
      { text: "select pg_stat_get_xact_tuples_hot_updated('contacts'::regclass) as count" },
      [],
    );
  });
  assert.equal(hot[0]?.count, "1");
});

test("contacts are listed by the time of their modification through creations, changes and deletions", async () => {
  await Promise.all(
    Array.from({ length: COUNT }, (_, index) =>
      run(
        index % 4 === 0
          ? `delete from contacts where id = ${index + 1}`
          : `update contacts set date_modified = now() + ${(index * 7) % 5} * interval '1 hour' where id = ${index + 1}`,
      ),
    ),
  );
  await run("update contacts set date_modified = null where id = 2");
  for (const descending of [true, false]) {
    const order = descending ? "desc nulls last" : "asc nulls first";
    const rows = await run(
      `select id from contacts order by date_modified ${order}, id ${descending ? "desc" : "asc"}`,
    );
    assert.deepEqual(
      await idsBy(descending),
      rows.map(({ id }) => Number(id)),
    );
  }
  const different = await run(
    `select * from contacts c full join contact_modified m using (id)
     where c.id is null or m.id is null or c.date_modified is distinct from m.date_modified`,
  );
  assert.deepEqual(different, []);
});
