import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, test } from "node:test";
import { create, fromBinary, type MessageInitShape } from "@bufbuild/protobuf";
import { TimestampSchema, timestampDate } from "@bufbuild/protobuf/wkt";
import {
  CarryOutCommandsRequestSchema,
  CheckContactableRequestSchema,
  type ContactCommandSchema,
  ReadContactFieldsRequestSchema,
  ReadFieldLabelsRequestSchema,
  RefuseAddressRequestSchema,
} from "@tidings/proto/tidings/contact/v1/command";
import { ContactSavedSchema } from "@tidings/proto/tidings/contact/v1/events";
import type { Actor } from "@tidings/rpc/actor";
import { contactVariables } from "../config.ts";
import { callAs } from "../testing/contact-scene.ts";
import { segmentScene } from "../testing/segment-scene.ts";
import { commandHandlers } from "./handlers.ts";

const ENGINE: Actor = { kind: "service", id: null, name: "Forms", admin: false, permissions: {} };

let scene: Awaited<ReturnType<typeof segmentScene>>;
let commands: ReturnType<typeof commandHandlers>;
before(async () => {
  scene = await segmentScene();
  commands = commandHandlers(scene.services);
  await scene.query(
    "insert into stages (id, version, name, weight, is_published) values (5, 1, 'Lead', 1, true)",
  );
  await scene.query("insert into point_groups (id, version, name) values (7, 1, 'Interest')");
});
after(() => scene.close());

type Sent = MessageInitShape<typeof ContactCommandSchema>;
const key = () => `test:${randomUUID()}`;
const body = (members: object) => ({
  case: "edit" as const,
  value: { body: Buffer.from(JSON.stringify(members)) },
});

async function carryOut(sent: Sent[]) {
  const request = create(CarryOutCommandsRequestSchema, { commands: sent });
  const { outcomes = [] } = await commands.carryOutCommands(request, callAs(ENGINE));
  return outcomes.map(({ reason, contactId }) => reason || contactId);
}
async function contact(id: number) {
  const [row] = await scene.query(
    `select firstname, points, stage_id, tag_ids, company, do_not_contact #>> '{email,reason}' as dnc, version,
       modified_by_user from contacts where id = $1`,
    [id],
  );
  return row;
}
const points = (contactId: number, delta: number, groupId?: number): Sent => ({
  key: key(),
  contactId,
  effect: {
    case: "points",
    value: { operator: "plus", delta, type: "form", eventName: "Sign up", ...(groupId && { groupId }) },
  },
});

test("commands of every kind take effect in one call, once, with one event for a contact", async () => {
  const id = await scene.addContact({ firstname: "Ada" });
  const segment = await scene.addSegment([]);
  const company = await scene.services.database
    .query(
      {
        text: "insert into companies (is_published, date_added, version, score, custom, companyname, name_key) values (true, now(), 1, 0, '{}', 'Acme', 'acme') returning id",
      },
      [],
      Date.now() + 20_000,
    )
    .then(([row]) => Number(row?.id));
  await scene.newEvents();
  const sent: Sent[] = [
    {
      key: key(),
      contactId: id,
      effect: body({ firstname: "Grace", tags: ["vip"], doNotContact: [{ channel: "email", reason: 3 }] }),
    },
    points(id, 5),
    points(id, 7),
    points(id, 3, 7),
    { key: key(), contactId: id, effect: { case: "stage", value: { stageId: 5 } } },
    { key: key(), contactId: id, effect: { case: "company", value: { companyId: company, action: "link" } } },
    {
      key: key(),
      contactId: id,
      effect: { case: "company", value: { companyId: company, action: "score", score: 9 } },
    },
    { key: key(), contactId: id, effect: { case: "segments", value: { add: [segment.id] } } },
  ];
  assert.deepEqual(
    await carryOut(sent),
    sent.map(() => id),
  );
  const events = await scene.newEvents();
  assert.deepEqual(
    await carryOut(sent),
    sent.map(() => id),
  );
  assert.deepEqual(await scene.newEvents(), []);
  const row = await contact(id);
  assert.equal(row?.firstname, "Grace");
  assert.equal(row?.points, "12");
  assert.equal(row?.stage_id, "5");
  assert.equal(row?.company, "Acme");
  assert.equal(row?.dnc, "3");
  assert.equal(row?.modified_by_user, "Forms");
  assert.deepEqual(await scene.members(segment.id), [id]);
  const [scores] = await scene.query("select score from contact_group_scores where contact_id = $1", [id]);
  assert.equal(scores?.score, "3");
  const [scored] = await scene.query("select score from companies where id = $1", [company]);
  assert.equal(scored?.score, "9");
  const logs = await scene.query(
    "select type, delta, group_id from points_log where contact_id = $1 order by id",
    [id],
  );
  assert.deepEqual(
    logs.map(({ type, delta, group_id }) => [type, delta, group_id]),
    [
      ["form", "5", null],
      ["form", "7", null],
      ["form", "3", "7"],
    ],
  );
  // The edit is one save, and all changes of points, stage and company are another.
  const saved = events.filter(({ subject }) => subject === "tidings.contact.contact.updated");
  assert.equal(saved.length, 2);
  const [, second] = saved.map(({ payload }) => fromBinary(ContactSavedSchema, payload));
  assert.deepEqual([second?.points?.oldPoints, second?.points?.newPoints], [0, 12]);
});

test("a command that cannot take effect has its reason, and stops no other", async () => {
  const id = await scene.addContact({ firstname: "Ada", email: "ada@commands.example" });
  const other = await scene.addContact({ email: "taken@commands.example" });
  const outcomes = await carryOut([
    points(id, 1),
    points(2_000_000_000, 1),
    points(id, 2_147_483_647),
    points(id, 1, 99),
    { key: key(), contactId: id, effect: { case: "stage", value: { stageId: 99 } } },
    { key: key(), contactId: id, effect: body({ email: "taken@commands.example" }) },
    { key: key(), contactId: id, effect: body({ email: "none" }) },
    { key: key(), contactId: other, effect: { case: "segments", value: { add: [2_000_000_000] } } },
    { key: key(), contactId: id },
    { key: "", contactId: id, effect: points(id, 1).effect as never },
    points(other, 4),
  ]);
  assert.deepEqual(outcomes, [
    id,
    "NOT_FOUND",
    "BAD_REQUEST",
    "NOT_FOUND",
    "NOT_FOUND",
    "TAKEN",
    "INVALID",
    "NOT_FOUND",
    "BAD_REQUEST",
    "BAD_REQUEST",
    other,
  ]);
  assert.equal((await contact(id))?.points, "1");
  assert.equal((await contact(other))?.points, "4");
});

test("a command on a merged contact takes effect on the survivor, and a deleted contact stays deleted", async () => {
  const [survivor, merged] = [await scene.addContact({}), await scene.addContact({})];
  await scene.handlers.mergeContacts(
    { $typeName: "tidings.contact.v1.MergeContactsRequest", id: survivor, mergedId: merged },
    callAs(),
  );
  assert.deepEqual(await carryOut([points(merged, 3)]), [survivor]);
  assert.equal((await contact(survivor))?.points, "3");
  const remove: Sent = { key: key(), contactId: survivor, effect: { case: "delete", value: {} } };
  assert.deepEqual(await carryOut([remove]), [survivor]);
  assert.deepEqual(await carryOut([remove, points(survivor, 1)]), [survivor, "NOT_FOUND"]);
});

test("a thousand commands in ten parallel calls, each sent three times, add up", async () => {
  const ids = await Promise.all(Array.from({ length: 20 }, () => scene.addContact({})));
  const calls = Array.from({ length: 10 }, () =>
    Array.from({ length: 100 }, (_, index) => points(ids[index % ids.length] as number, 1)),
  );
  await Promise.all([...calls, ...calls, ...calls].map(carryOut));
  const totals = await Promise.all(ids.map(async (id) => (await contact(id))?.points));
  assert.deepEqual(new Set(totals), new Set(["50"]));
});

test("named fields of contacts are read in one call, merged contacts as their survivors", async () => {
  const [ada, merged, gone] = [
    await scene.addContact({ firstname: "Ada", email: "fields@commands.example" }),
    await scene.addContact({ firstname: "Ada" }),
    2_000_000_000,
  ];
  await scene.handlers.mergeContacts(
    { $typeName: "tidings.contact.v1.MergeContactsRequest", id: ada, mergedId: merged },
    callAs(),
  );
  const { contacts = [] } = await commands.readContactFields(
    create(ReadContactFieldsRequestSchema, {
      ids: [ada, merged, gone],
      aliases: ["firstname", "email", "constructor", "points"],
    }),
    callAs(ENGINE),
  );
  const values = ["Ada", "fields@commands.example", "", "0"];
  assert.deepEqual(
    contacts.map(({ id, contactId, values }) => [id, contactId, values]),
    [
      [ada, ada, values],
      [merged, ada, values],
    ],
  );
});

test("labels of fields of contacts and companies are read by alias, and unknown aliases are left out", async () => {
  const aliases = ["firstname", "companyname", "constructor", "no_such_field"];
  const request = create(ReadFieldLabelsRequestSchema, { aliases });
  const { labels } = await commands.readFieldLabels(request, callAs(ENGINE));
  assert.deepEqual({ ...labels }, { firstname: "First Name", companyname: "Company Name" });
  const many = create(ReadFieldLabelsRequestSchema, { aliases: Array(501).fill("firstname") });
  await assert.rejects(async () => commands.readFieldLabels(many, callAs(ENGINE)));
});

test("contacts that unsubscribed, are paused or had enough mails are refused with the reason", async () => {
  const rule = (members: object) => JSON.stringify({ email: { channel: "email", ...members } });
  const add = async (columns: Record<string, string>) => {
    const id = await scene.addContact({});
    for (const [name, value] of Object.entries(columns))
      await scene.query(`update contacts set ${name} = $2::jsonb where id = $1`, [id, value]);
    return id;
  };
  const may = await add({ frequency_rules: rule({ frequencyNumber: 2, frequencyTime: "DAY" }) });
  const unsubscribed = await add({ do_not_contact: '{"email":{"reason":1}}' });
  const paused = await add({
    frequency_rules: rule({
      pauseFromDate: "2020-01-01T00:00:00+00:00",
      pauseToDate: "2999-01-01T00:00:00+00:00",
    }),
  });
  const frequent = await add({ frequency_rules: rule({ frequencyNumber: 1, frequencyTime: "WEEK" }) });
  for (const id of [may, frequent])
    await scene.query(
      "insert into email_sends (id, contact_id, email_id, date_sent) values (gen_random_uuid(), $1, 1, now() - interval '2 hours')",
      [id],
    );
  const check = async (channel: string) => {
    const ids = [may, unsubscribed, paused, frequent, 2_000_000_000];
    const request = create(CheckContactableRequestSchema, { channel, ids });
    const { contacts = [] } = await commands.checkContactable(request, callAs(ENGINE));
    assert.deepEqual(
      contacts.map(({ id }) => id),
      ids,
    );
    return contacts.map(({ refusal }) => refusal);
  };
  assert.deepEqual(await check("email"), ["", "unsubscribed", "paused", "frequency", "not_found"]);
  assert.deepEqual(await check("constructor"), ["", "", "", "", "not_found"]);
});

test("a no of one contact holds for all with the same address, also after that contact is gone", async () => {
  const check = async (channel: string, ids: number[]) => {
    const request = create(CheckContactableRequestSchema, { channel, ids });
    const { contacts = [] } = await commands.checkContactable(request, callAs(ENGINE));
    return contacts.map(({ refusal }) => refusal);
  };
  const no = async (id: number, channel: string, reason: number) =>
    assert.deepEqual(
      await carryOut([{ key: key(), contactId: id, effect: body({ doNotContact: [{ channel, reason }] }) }]),
      [id],
    );
  const withAddress = async (email: string, mobile: string) => {
    const id = await scene.addContact({});
    await scene.query("update contacts set email = $2, mobile = $3 where id = $1", [id, email, mobile]);
    return id;
  };
  const one = await withAddress("Twin@example.com", "+49 170 1");
  const other = await withAddress("twin@example.COM", "+491701");
  const third = await withAddress("", "");
  await no(one, "email", 2);
  await no(one, "sms", 3);
  assert.deepEqual(await check("email", [one, other, third]), ["bounced", "bounced", ""]);
  assert.deepEqual(await check("sms", [one, other, third]), ["manual", "manual", ""]);
  assert.deepEqual(await check("tweet", [one, other]), ["", ""]);
  await commands.carryOutCommands(
    create(CarryOutCommandsRequestSchema, {
      commands: [{ key: key(), contactId: one, effect: { case: "delete", value: {} } }],
    }),
    callAs(ENGINE),
  );
  assert.deepEqual(await check("email", [one, other]), ["not_found", "bounced"]);
  assert.deepEqual(await check("sms", [other]), ["manual"]);
  await no(other, "email", 0);
  assert.deepEqual(await check("email", [other]), [""]);
});

test("a frequency rule counts the sends of its channel within its day, week or month, and a pause has its first and its last second", async () => {
  const insertions: Record<string, string> = {
    email: "email_sends (id, contact_id, email_id, date_sent) values (gen_random_uuid(), $1, 1, ",
    sms: "sms_sends (id, contact_id, sms_id, date_added) values (gen_random_uuid(), $1, 1, ",
    tweet: "tweet_sends (id, contact_id, tweet_id, date_added) values (gen_random_uuid(), $1, 1, ",
    notification:
      "notification_sends (id, contact_id, notification_id, is_mobile, date_added) values (gen_random_uuid(), $1, 1, false, ",
    mobile_notification:
      "notification_sends (id, contact_id, notification_id, is_mobile, date_added) values (gen_random_uuid(), $1, 1, true, ",
  };
  const channels = Object.keys(insertions);
  const windows = { DAY: "24 hours", WEEK: "168 hours", MONTH: "1 month" };
  const withRules = async (rule: object) => {
    const id = await scene.addContact({});
    const rules = Object.fromEntries(channels.map((channel) => [channel, { channel, ...rule }]));
    await scene.query("update contacts set frequency_rules = $2::jsonb where id = $1", [
      id,
      JSON.stringify(rules),
    ]);
    return id;
  };
  const check = async (channel: string, ids: number[]) => {
    const request = create(CheckContactableRequestSchema, { channel, ids });
    const { contacts = [] } = await commands.checkContactable(request, callAs(ENGINE));
    return contacts.map(({ refusal }) => refusal);
  };
  for (const [frequencyTime, length] of Object.entries(windows)) {
    const [over, within] = [
      await withRules({ frequencyNumber: 1, frequencyTime }),
      await withRules({ frequencyNumber: 1, frequencyTime }),
    ];
    for (const channel of channels) {
      const add = (id: number, margin: string) =>
        scene.query(
          `insert into ${insertions[channel]} now() - interval '${length}' ${margin} interval '1 minute')`,
          [id],
        );
      assert.deepEqual(await check(channel, [over, within]), ["", ""], channel);
      await add(over, "-");
      await add(within, "+");
      assert.deepEqual(
        await check(channel, [over, within]),
        ["", "frequency"],
        `${channel} ${frequencyTime}`,
      );
    }
  }
  const from = (seconds: number) => new Date(Date.now() + seconds * 1_000).toISOString();
  const pauses = [
    await withRules({ pauseFromDate: from(-60), pauseToDate: from(60) }),
    await withRules({ pauseFromDate: from(60), pauseToDate: from(120) }),
    await withRules({ pauseFromDate: from(-120), pauseToDate: from(-60) }),
  ];
  for (const channel of channels) assert.deepEqual(await check(channel, pauses), ["paused", "", ""], channel);
});

test("EMAIL_FREQUENCY holds for contacts without a rule of their own, and rules of channels are answered", async () => {
  const limited = commandHandlers(scene.services, {
    email: contactVariables.EMAIL_FREQUENCY.parse("2/week"),
  });
  const rule = { channel: "email", frequencyNumber: 3, frequencyTime: "WEEK", preferredChannel: true };
  const [none, own] = [await scene.addContact({}), await scene.addContact({})];
  await scene.query("update contacts set frequency_rules = $2::jsonb where id = $1", [
    own,
    JSON.stringify({ email: rule }),
  ]);
  const answers = async (channel = "email") => {
    const request = create(CheckContactableRequestSchema, { channel, ids: [none, own] });
    const { contacts = [] } = await limited.checkContactable(request, callAs(ENGINE));
    return contacts.map(({ refusal, rule: known, limit }) => [
      refusal,
      known?.isPreferred,
      Math.round(known?.perMonth ?? 0),
      limit?.messagesMax,
    ]);
  };
  const sent = (count: number) =>
    scene.query(
      "insert into email_sends (id, contact_id, email_id, date_sent) select gen_random_uuid(), c, 1, now() - interval '2 days' from unnest($1::integer[]) c, generate_series(1, $2)",
      [[none, own], count],
    );
  await sent(1);
  assert.deepEqual(await answers(), [
    ["", undefined, 0, 2],
    ["", true, 13, 3],
  ]);
  await sent(1);
  assert.deepEqual(await answers(), [
    ["frequency", undefined, 0, 2],
    ["", true, 13, 3],
  ]);
  await sent(1);
  assert.deepEqual(await answers(), [
    ["frequency", undefined, 0, 2],
    ["frequency", true, 13, 3],
  ]);
  assert.deepEqual(await answers("sms"), [
    ["", undefined, 0, undefined],
    ["", undefined, 0, undefined],
  ]);
  for (const odd of ["0/day", "3/year", "3", "-1/day", "3/week/", "1e3/day"])
    assert.throws(() => contactVariables.EMAIL_FREQUENCY.parse(odd), /3\/week/);
});

test("a segment that cannot be evaluated fails no command that changes members of another", async () => {
  await scene.addField("shoe_size", "number");
  const poison = await scene.addContact({ firstname: "Poison", shoe_size: 40 });
  await scene.query(
    `update contacts set custom = (select jsonb_object_agg(key, 'large') from jsonb_each(custom)) where id = $1`,
    [poison],
  );
  const bySize = { field: "shoe_size", object: "lead", operator: "gt", filter: 30 };
  const target = await scene.addSegment([]);
  const leadsOn = { field: "leadlist", object: "lead", operator: "in", filter: [target.id] };
  await scene.addSegment([leadsOn, { ...bySize, glue: "or" }]);
  const outcomes = await carryOut([
    { key: key(), contactId: poison, effect: { case: "segments", value: { add: [target.id] } } },
  ]);
  assert.deepEqual(outcomes, [poison]);
  assert.deepEqual(await scene.members(target.id), [poison]);
});

test("an address is refused for the contacts that have it, and for one that comes later", async () => {
  const [known, later] = [await scene.addContact({}), await scene.addContact({})];
  const write = (id: number, email: string) =>
    scene.query("update contacts set email = $2 where id = $1", [id, email]);
  await write(known, "Known@example.com");
  const refuse = async (address: string) => {
    const request = create(RefuseAddressRequestSchema, { channel: "email", address, reason: 1 });
    return (await commands.refuseAddress(request, callAs(ENGINE))).contactIds;
  };
  assert.deepEqual(await refuse("known@EXAMPLE.com"), [known]);
  assert.deepEqual(await refuse("Later@example.com"), []);
  await write(later, "later@example.com");
  const request = create(CheckContactableRequestSchema, { channel: "email", ids: [known, later] });
  const { contacts: answers = [] } = await commands.checkContactable(request, callAs(ENGINE));
  assert.deepEqual(
    answers.map(({ refusal, since }) => [refusal, since !== undefined]),
    [
      ["", false],
      ["unsubscribed", true],
    ],
  );
});

test("the answer about a contact says since when it refuses: by its entry, or by that of another one with its address", async () => {
  const [one, twin] = [await scene.addContact({}), await scene.addContact({})];
  await scene.query("update contacts set email = 'twins@example.com' where id = any ($1::integer[])", [
    [one, twin],
  ]);
  await scene.query(
    `update contacts set do_not_contact = '{"email":{"reason":2,"dateAdded":"2024-05-01T12:00:00.000Z"}}' where id = $1`,
    [one],
  );
  const request = create(CheckContactableRequestSchema, { channel: "email", ids: [one, twin] });
  const { contacts: answers = [] } = await commands.checkContactable(request, callAs(ENGINE));
  for (const { refusal, since } of answers) {
    assert.equal(refusal, "bounced");
    assert.equal(timestampDate(create(TimestampSchema, since)).toISOString(), "2024-05-01T12:00:00.000Z");
  }
});
