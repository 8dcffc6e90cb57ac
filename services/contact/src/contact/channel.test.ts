import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { create } from "@bufbuild/protobuf";
import {
  AddDoNotContactRequestSchema,
  type Contact,
  RemoveDoNotContactRequestSchema,
  SetContactStageRequestSchema,
} from "@tidings/proto/tidings/contact/v1/contact";
import {
  CreateContactRequestSchema,
  DeleteContactRequestSchema,
  GetContactRequestSchema,
  UpdateContactRequestSchema,
} from "@tidings/proto/tidings/contact/v1/contact_service";
import type { ChannelChange } from "@tidings/proto/tidings/contact/v1/events";
import {
  AddUtmTagsRequestSchema,
  RemoveUtmTagsRequestSchema,
} from "@tidings/proto/tidings/contact/v1/utm_tags";
import { askOwnersThrough } from "@tidings/resource/await-rows";
import { Code } from "@tidings/rpc/fault";
import { callAs, contactBody, contactScene, parse } from "../testing/contact-scene.ts";
import { contactEventsOf } from "../testing/event-reader.ts";

let scene: Awaited<ReturnType<typeof contactScene>>;
before(async () => {
  scene = await contactScene();
  await query(`insert into owners (id, version, username, first_name, last_name)
    values (7, 1, 'grace', 'Grace', 'Hopper')`);
  await query("insert into stages (id, version, name, weight) values (3, 1, 'Lead', 5)");
});
after(() => scene.close());

const call = callAs();
const query = (text: string) => scene.context.database.query({ text }, [], Date.now() + 5_000);

async function add(values: Record<string, unknown>, others: Parameters<typeof contactBody>[1] = {}) {
  const request = create(CreateContactRequestSchema, { contact: contactBody(values, others) });
  return (await scene.handlers.createContact(request, call)).contact as Contact;
}

async function get(id: number) {
  return (await scene.handlers.getContact(create(GetContactRequestSchema, { id }), call)) as Contact;
}

async function remove(id: number) {
  await scene.handlers.deleteContact(create(DeleteContactRequestSchema, { id }), call);
}

async function edit(id: number, members: Partial<Record<"owner" | "stage", unknown>>, replace = false) {
  const contact = contactBody({ firstname: "Kept" });
  for (const [name, value] of Object.entries(members)) Object.assign(contact, { [name]: json(value) });
  const updateMask = { paths: replace ? ["*"] : [] };
  const request = create(UpdateContactRequestSchema, { id, contact, updateMask });
  return (await scene.handlers.updateContact(request, call)).contact as Contact;
}

const json = (value: unknown) => Buffer.from(JSON.stringify(value));

async function stop(id: number, channel: string, entry: object = {}) {
  const request = create(AddDoNotContactRequestSchema, { id, channel, entry: json(entry) });
  return parse((await scene.handlers.addDoNotContact(request, call)).doNotContact as Uint8Array);
}

async function allow(id: number, channel: string) {
  const request = create(RemoveDoNotContactRequestSchema, { id, channel });
  const { found, contact } = await scene.handlers.removeDoNotContact(request, call);
  return { found, entries: parse(contact?.doNotContact as Uint8Array) };
}

test("a channel has one entry, of reason 3 unless said otherwise, and lifting it answers whether there was one", async () => {
  const { id } = await add({ firstname: "A" });
  const [entry] = await stop(id, "email", { comments: "asked by phone" });
  assert.deepEqual([entry.channel, entry.reason, entry.comments], ["email", 3, "asked by phone"]);
  assert.equal((await stop(id, "sms", { reason: 2 })).length, 2);
  assert.deepEqual(
    (await stop(id, "email", { reason: 1 })).map(({ reason }: { reason: number }) => reason),
    [1, 2],
  );
  assert.equal((await allow(id, "email")).found, true);
  assert.equal((await allow(id, "email")).found, false);
  assert.deepEqual(
    (await allow(id, "sms")).entries.map(({ channel }: { channel: string }) => channel),
    [],
  );
});

test("another reason does not replace the contact's own unsubscription", async () => {
  const { id } = await add({ firstname: "A" });
  await stop(id, "email", { reason: 1 });
  const [entry] = await stop(id, "email", { reason: 3 });
  assert.equal(entry.reason, 1);
});

for (const reason of [0, "", "many", -1, null, 1.5, 9]) {
  test(`reason ${JSON.stringify(reason)} is refused and nothing changes`, async () => {
    const { id } = await add({ firstname: "A" });
    await assert.rejects(stop(id, "email", { reason }), { code: Code.INVALID_ARGUMENT });
    assert.deepEqual(parse((await get(id)).doNotContact), []);
  });
}

test("channels called like members of every object are only names", async () => {
  const { id } = await add({ firstname: "A" });
  assert.equal((await allow(id, "constructor")).found, false);
  assert.equal((await stop(id, "constructor")).length, 1);
  await assert.rejects(stop(id, "__proto__"), { code: Code.INVALID_ARGUMENT });
});

test("the event of a change of a channel has the status before and after", async () => {
  const { id } = await add({ firstname: "A" });
  await stop(id, "email", { reason: 2 });
  await stop(id, "email", { reason: 2 });
  await stop(id, "email", { reason: 1 });
  await allow(id, "email");
  const told = await contactEventsOf(scene.context.database, id);
  const changes = told.flatMap(({ message }) => (message.channels ?? []) as ChannelChange[]);
  assert.deepEqual(
    changes.map(({ oldStatus, newStatus }) => [oldStatus, newStatus]),
    [
      ["contactable", "bounced"],
      ["bounced", "unsubscribed"],
      ["unsubscribed", "contactable"],
    ],
  );
});

test("a stopped address stays stopped after deletion and creation anew, and is kept nowhere in clear", async () => {
  const { id } = await add({ email: "Stopped@Example.com", mobile: "+33 6 12" });
  await stop(id, "email", { reason: 1 });
  await stop(id, "sms", { reason: 3 });
  await remove(id);
  const again = await add({ email: "stopped@example.COM", phone: "+33612" });
  assert.notEqual(again.id, id);
  const entries = parse(again.doNotContact);
  assert.deepEqual(
    entries.map(({ channel, reason }: { channel: string; reason: number }) => [channel, reason]),
    [
      ["email", 1],
      ["sms", 3],
    ],
  );
  const kept = await query("select encode(hash, 'escape') || channel as text from suppressions");
  assert.ok(kept.every(({ text }) => !/stopped|612/i.test(text ?? "")));
  const other = await add({ email: "other@example.com" });
  assert.deepEqual(parse(other.doNotContact), []);
});

test("a contact that gets a stopped address by an edit may not be written to there, until that is lifted", async () => {
  const stopped = await add({ email: "moved@example.com" });
  await stop(stopped.id, "email", { reason: 1 });
  await remove(stopped.id);
  const { id } = await add({ email: "fine@example.com" });
  const rename = async (email: string) => {
    const request = create(UpdateContactRequestSchema, {
      id,
      contact: contactBody({ email }),
      updateMask: { paths: [] },
    });
    await scene.handlers.updateContact(request, call);
    return parse((await get(id)).doNotContact) as { id: number; reason: number }[];
  };
  const [entry] = await rename("Moved@example.com");
  assert.equal(entry?.reason, 1);
  assert.ok(Number(entry?.id) > 0);
  await allow(id, "email");
  assert.deepEqual(await rename("moved@example.com"), []);
  assert.deepEqual(await rename("fine@example.com"), []);
  assert.deepEqual(await rename("moved@example.com"), []);
});

test("the parameters of a query keep their order, and a user agent is noted as a device, once", async () => {
  const { id } = await add({ firstname: "A" });
  const useragent =
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.4 Mobile/15E148 Safari/604.1";
  const tags = json({ utm_source: "x", useragent, query: "zebra=1&apple=2&mango=3" });
  for (let count = 0; count < 2; count += 1)
    await scene.handlers.addUtmTags(create(AddUtmTagsRequestSchema, { id, tags }), call);
  const [entry] = parse((await get(id)).utmtags);
  assert.deepEqual(Object.keys(entry.query), ["zebra", "apple", "mango"]);
  const devices = await query(
    `select device, device_brand, device_model, device_os_name, device_os_short_name from devices where contact_id = ${id}`,
  );
  assert.deepEqual(devices.map(Object.values), [["smartphone", "Apple", "iPhone", "iOS", "IOS"]]);
});

test("UTM tags are kept with the contact under every name clients send them by, and removed by id", async () => {
  const { id } = await add({ firstname: "A" });
  const tags = {
    utm_campaign: "spring",
    useragent: "Browser",
    remotehost: "host",
    query: "?a=1&b=2",
    lastActive: "2024-05-01 10:00:00",
    unknown: "ignored",
  };
  const request = create(AddUtmTagsRequestSchema, { id, tags: json(tags) });
  const contact = (await scene.handlers.addUtmTags(request, call)) as Contact;
  assert.deepEqual(parse(contact.utmtags), parse((await get(id)).utmtags));
  const [entry] = parse(contact.utmtags);
  assert.deepEqual(
    [entry.utmCampaign, entry.userAgent, entry.remoteHost, entry.query, entry.utmTerm],
    ["spring", "Browser", "host", { a: "1", b: "2" }, null],
  );
  assert.ok(contact.lastActive);
  const removal = create(RemoveUtmTagsRequestSchema, { id, utmTagsId: entry.id });
  const removed = await scene.handlers.removeUtmTags(removal, call);
  assert.deepEqual(parse(removed.contact?.utmtags as Uint8Array), []);
  await assert.rejects(async () => scene.handlers.removeUtmTags(removal, call), {
    code: Code.INVALID_ARGUMENT,
  });
});

test("hostile UTM bodies are refused or bounded", async () => {
  const { id } = await add({ firstname: "A" });
  const send = (tags: unknown) =>
    scene.handlers.addUtmTags(create(AddUtmTagsRequestSchema, { id, tags: json(tags) }), call);
  await assert.rejects(async () => send({ query: { a: "x".repeat(20_000) } }), {
    code: Code.INVALID_ARGUMENT,
  });
  for (let index = 0; index < 105; index += 1) await send({ utm_source: "x".repeat(5_000) });
  const tags = parse((await get(id)).utmtags);
  assert.equal(tags.length, 100);
  assert.equal(tags[0].utmSource.length, 2_000);
});

test("a user who is just becoming known can be the owner", async () => {
  const { id } = await add({});
  askOwnersThrough(scene.context.database, {
    async byId(table, ids) {
      if (table !== "owners" || !ids.includes(8)) return;
      await query(
        "insert into owners (id, version, username, first_name, last_name) values (8, 1, 'joan', 'Joan', 'Clarke')",
      );
    },
    newest: async () => {},
  });
  const saved = await edit(id, { owner: 8 });
  assert.equal(parse(saved.owner).firstName, "Joan");
});

test("owner and stage are set by id, kept when absent, cleared by null, refused when unknown", async () => {
  const { id } = await add({ firstname: "A" });
  const set = await edit(id, { owner: 7, stage: { id: 3 } });
  assert.equal(parse(set.owner).lastName, "Hopper");
  assert.equal(parse(set.stage).name, "Lead");
  const kept = await edit(id, {}, true);
  assert.ok(kept.owner && kept.stage);
  const cleared = await edit(id, { owner: null, stage: null });
  assert.deepEqual([cleared.owner, cleared.stage], [undefined, undefined]);
  for (const member of ["owner", "stage"] as const)
    for (const value of [999, "x", [1], { id: "y" }, -1, 2 ** 31])
      await assert.rejects(edit(id, { [member]: value }), { code: Code.INVALID_ARGUMENT });
});

test("a stage is entered and left by request, and logged; an unknown one is NOT_FOUND", async () => {
  const { id } = await add({ firstname: "A" });
  const set = (stageId: number, isRemoved = false) =>
    scene.handlers.setContactStage(create(SetContactStageRequestSchema, { id, stageId, isRemoved }), call);
  await set(3);
  assert.equal(parse((await get(id)).stage as Uint8Array).weight, 5);
  await assert.rejects(async () => set(999), { code: Code.NOT_FOUND });
  await set(3, true);
  assert.equal((await get(id)).stage, undefined);
  const log = await scene.context.database.query(
    { text: `select stage_id, event_name, action_name from stages_log where contact_id = ${id} order by id` },
    [],
    Date.now() + 5_000,
  );
  assert.deepEqual(
    log.map(({ stage_id, event_name, action_name }) => [stage_id, event_name, action_name]),
    [
      ["3", "3: Lead", "Manually Added"],
      ["3", "3: Lead", "Manually Removed"],
    ],
  );
});
