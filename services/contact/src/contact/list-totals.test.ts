import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { backgroundDeadline } from "@tidings/database/database";
import {
  BatchCreateContactsRequestSchema,
  CreateContactRequestSchema,
  ListContactsRequestSchema,
} from "@tidings/proto/tidings/contact/v1/contact_service";
import type { ListQuerySchema } from "@tidings/proto/tidings/type/v1/list";
import { repairTotals } from "@tidings/resource/totals";
import type { Actor } from "@tidings/rpc/actor";
import { createLog } from "@tidings/runtime/log";
import { totals } from "../rows/totals.ts";
import { ADMINISTRATOR, callAs, contactBody, contactScene, listQuery } from "../testing/contact-scene.ts";

/** Totals of contacts by their owner and published state are kept, and exact. */

const OWNER = 7;
const COUNT = 40;
const OWN: Actor = {
  ...{ kind: "user", id: OWNER, name: "Ada", admin: false },
  permissions: { "lead:leads": ["viewown"] },
};

let scene: Awaited<ReturnType<typeof contactScene>>;
before(async () => {
  scene = await contactScene();
  const requests = Array.from({ length: COUNT }, (_, index) =>
    create(CreateContactRequestSchema, { contact: contactBody({ firstname: `Contact ${index}` }) }),
  );
  await scene.handlers.batchCreateContacts(create(BatchCreateContactsRequestSchema, { requests }), callAs());
  const writers = Array.from({ length: 8 }, (_, writer) => [
    `update contacts set owner_id = ${OWNER} where id % 8 = ${writer} and id % 3 = 0`,
    `update contacts set is_published = not is_published where id % 8 = ${writer} and id % 5 = 0`,
    `update contacts set owner_id = ${writer + 1} where id % 8 = ${writer} and id % 7 = 0`,
  ]);
  await Promise.all(
    writers.map(async (statements) => {
      for (const text of statements) await run(text);
    }),
  );
  await run("delete from contacts where id % 11 = 0");
});
after(() => scene.close());

function run(text: string) {
  return scene.context.database.query({ text }, [], backgroundDeadline());
}

async function totalOf(query: MessageInitShape<typeof ListQuerySchema>, actor: Actor): Promise<number> {
  const request = create(ListContactsRequestSchema, { query: listQuery(query) });
  return (await scene.handlers.listContacts(request, callAs(actor))).totalSize ?? -1;
}

const where = (column: string, expr: string, ...values: string[]) => ({ where: [{ column, expr, values }] });
const LISTS: [name: string, query: MessageInitShape<typeof ListQuerySchema>, actor: Actor, rows: string][] = [
  ["a caller who sees their own", {}, OWN, `owner_id = ${OWNER}`],
  ["owner_id eq", where("owner_id", "eq", String(OWNER)), ADMINISTRATOR, `owner_id = ${OWNER}`],
  ["ownerId isNull", where("ownerId", "isNull"), ADMINISTRATOR, "owner_id is null"],
  ["isPublished eq 0", where("isPublished", "eq", "0"), ADMINISTRATOR, "not is_published"],
  ["publishedOnly", { publishedOnly: true }, ADMINISTRATOR, "is_published"],
  ["is:mine", { search: "is:mine" }, { ...ADMINISTRATOR, id: OWNER }, `owner_id = ${OWNER}`],
  ["is:unowned", { search: "is:unowned" }, ADMINISTRATOR, "owner_id is null"],
  ["is:published", { search: "is:published" }, ADMINISTRATOR, "is_published"],
  ["is:unpublished", { search: "is:unpublished" }, ADMINISTRATOR, "not is_published"],
];

for (const [name, query, actor, rows] of LISTS)
  test(`the total of a list of ${name} is the count, and is not counted`, async () => {
    const [counted] = await run(`select count(*) from contacts where ${rows}`);
    assert.ok(Number(counted?.count) > 0);
    assert.equal(await totalOf(query, actor), Number(counted?.count));
    // A total that is wrong shows that it was kept.
    await run("insert into totals select of, key, 1000 from (select distinct of, key from totals) as kept");
    assert.equal(await totalOf(query, actor), Number(counted?.count) + 1_000);
    await run("delete from totals where change = 1000");
  });

for (const [name, query, actor, rows] of [
  ["two predicates", where("owner_id", "eq", String(OWNER)), OWN, `owner_id = ${OWNER}`],
  [
    "a negation",
    { search: "!is:mine" },
    { ...ADMINISTRATOR, id: OWNER },
    `owner_id is distinct from ${OWNER}`,
  ],
  ["no owner by number", where("owner_id", "eq", "0"), ADMINISTRATOR, "owner_id = 0"],
  ["a published state of null", where("isPublished", "isNull"), ADMINISTRATOR, "is_published is null"],
] as typeof LISTS)
  test(`the total of a list of ${name} is counted`, async () => {
    const [counted] = await run(`select count(*) from contacts where ${rows}`);
    await run("insert into totals select of, key, 1000 from (select distinct of, key from totals) as kept");
    assert.equal(await totalOf(query, actor), Number(counted?.count));
    await run("delete from totals where change = 1000");
  });

test("no kept total is wrong after writers in parallel", async () => {
  const log = createLog("contact", "silent");
  assert.equal(await repairTotals(scene.context.database, totals, log), 0);
});
