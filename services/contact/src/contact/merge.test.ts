import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { type Contact, MergeContactsRequestSchema } from "@tidings/proto/tidings/contact/v1/contact";
import {
  CreateContactRequestSchema,
  DeleteContactRequestSchema,
  GetContactRequestSchema,
  UpdateContactRequestSchema,
} from "@tidings/proto/tidings/contact/v1/contact_service";
import { Code, Fault } from "@tidings/rpc/fault";
import { callAs, contactBody, contactScene, parse } from "../testing/contact-scene.ts";
import { contactEventsOf } from "../testing/event-reader.ts";

let scene: Awaited<ReturnType<typeof contactScene>>;
before(async () => {
  scene = await contactScene();
});
after(() => scene.close());

const call = callAs();
const query = (text: string) => scene.context.database.query({ text }, [], Date.now() + 10_000);

async function add(values: Record<string, unknown>, others: Parameters<typeof contactBody>[1] = {}) {
  const request = create(CreateContactRequestSchema, { contact: contactBody(values, others) });
  return (await scene.handlers.createContact(request, call)).contact as Contact;
}

async function get(id: number) {
  return (await scene.handlers.getContact(create(GetContactRequestSchema, { id }), call)) as Contact;
}

async function edit(id: number, values: Record<string, unknown>) {
  const request = create(UpdateContactRequestSchema, { id, contact: contactBody(values) });
  return (await scene.handlers.updateContact(request, call)).contact as Contact;
}

async function merge(id: number, mergedId: number) {
  return (await scene.handlers.mergeContacts(
    create(MergeContactsRequestSchema, { id, mergedId }),
    call,
  )) as Contact;
}

const all = (contact: Contact) => parse(contact.fields).all;

test("a merge makes one contact: later values win, sets are united, points added up", async () => {
  const one = await add(
    { firstname: "Ada", city: "London", email: "one@example.com", company: "First" },
    { points: 3, tags: ["a", "b"], ipAddress: "8.8.8.8", doNotContact: [{ channel: "email", reason: 3 }] },
  );
  const other = await add(
    { firstname: "Augusta", phone: "1", email: "other@example.com", company: "Second" },
    { points: 4, tags: ["b", "c"], ipAddress: "9.9.9.9", doNotContact: [{ channel: "email", reason: 1 }] },
  );
  await query(`update contacts set date_modified = now() + interval '1 hour' where id = ${other.id}`);
  const merged = await merge(one.id, other.id);
  assert.deepEqual(all(merged), all(await get(one.id)));
  const fields = all(merged);
  assert.deepEqual(
    [fields.firstname, fields.city, fields.phone, fields.email, fields.company, merged.points],
    ["Augusta", "London", "1", "other@example.com", "Second", 7],
  );
  const names = parse(merged.tags).map(({ tag }: { tag: string }) => tag);
  assert.deepEqual(names, ["a", "b", "c"]);
  assert.deepEqual(Object.keys(parse(merged.ipAddresses)), ["8.8.8.8", "9.9.9.9"]);
  assert.equal(parse(merged.doNotContact)[0].reason, 1, "what was asked for itself outweighs");
  const links = await query(`select company_id from company_contacts where contact_id = ${one.id}`);
  assert.equal(links.length, 2);
});

test("the merged id leads to the survivor, also through several merges", async () => {
  const [a, b, c] = [
    await add({ firstname: "A" }),
    await add({ firstname: "B" }),
    await add({ firstname: "C" }),
  ];
  await merge(b.id, a.id);
  await merge(c.id, b.id);
  assert.equal((await get(a.id)).id, c.id);
  assert.equal((await edit(a.id, { city: "Paris" })).id, c.id);
  assert.equal(all(await get(c.id)).city, "Paris");
  const remove = (id: number) =>
    scene.handlers.deleteContact(create(DeleteContactRequestSchema, { id }), call);
  await assert.rejects(async () => remove(a.id), { code: Code.NOT_FOUND });
  await remove(c.id);
  await assert.rejects(get(a.id), { code: Code.NOT_FOUND });
});

test("the merged address is free for the survivor only, and found by it", async () => {
  const one = await add({ email: "keep@example.com" });
  const other = await add({ email: "give@example.com" });
  await merge(one.id, other.id);
  const { id } = await add({ email: "give@example.com" });
  const survivor = all(await get(one.id)).email;
  assert.equal(id === one.id, survivor === "give@example.com");
});

test("a merge publishes the update, the merge and the deletion", async () => {
  const one = await add({ firstname: "A" });
  const other = await add({ firstname: "B", city: "Rome" });
  await merge(one.id, other.id);
  const verbs = async (id: number) =>
    (await contactEventsOf(scene.context.database, id)).map(({ verb }) => verb);
  assert.deepEqual(await verbs(one.id), ["created", "updated"]);
  assert.deepEqual(await verbs(other.id), ["created", "merged", "deleted"]);
});

test("a contact is not merged with itself, nor with one that is not there", async () => {
  const { id } = await add({ firstname: "A" });
  await assert.rejects(merge(id, id), { code: Code.INVALID_ARGUMENT });
  await assert.rejects(merge(id, 999_999), { code: Code.NOT_FOUND });
});

test("parallel merges, edits and deletions neither lock each other out nor leave anything half done", async () => {
  const contacts = await Promise.all(
    Array.from({ length: 12 }, (_, index) =>
      add({ email: `p${index}@example.com` }, { points: 1, tags: ["p"] }),
    ),
  );
  const ids = contacts.map(({ id }) => id);
  const pick = (index: number) => ids[index % ids.length] as number;
  const steps = Array.from({ length: 60 }, (_, index) => () => {
    if (index % 3 === 0) return merge(pick(index * 7), pick(index * 5 + 1));
    if (index % 10 === 1)
      return scene.handlers.deleteContact(create(DeleteContactRequestSchema, { id: pick(index) }), call);
    return edit(pick(index * 11), { city: `City ${index}` });
  });
  const results = await Promise.allSettled(steps.map(async (step) => step()));
  const expected: Code[] = [Code.NOT_FOUND, Code.INVALID_ARGUMENT, Code.ALREADY_EXISTS];
  for (const result of results) {
    if (result.status === "fulfilled") continue;
    assert.ok(result.reason instanceof Fault && expected.includes(result.reason.code), result.reason.stack);
  }
  const orphans = await query(`
    select 'identifier' as kind from contact_identifiers i left join contacts c on c.id = i.contact_id where c.id is null
    union all select 'claim' from contacts c where c.email is not null and not exists
      (select 1 from contact_identifiers i where i.contact_id = c.id and i.value = lower(c.email))
    union all select 'redirect' from contact_redirects r left join contacts c on c.id = r.contact_id where c.id is null
    union all select 'both' from contact_redirects r join contacts c on c.id = r.merged_id`);
  assert.deepEqual(orphans, []);
});
