import assert from "node:assert/strict";
import { test } from "node:test";
import { toBinary } from "@bufbuild/protobuf";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { type PointTrigger, PointTriggerSchema } from "@tidings/proto/tidings/campaign/v1/point_trigger";
import { type Contact, ContactSchema } from "@tidings/proto/tidings/contact/v1/contact";
import { type Webhook, WebhookSchema } from "@tidings/proto/tidings/webhook/v1/webhook";
import { Code, Fault } from "@tidings/rpc/fault";
import { type Body, bodyDecoder } from "./message-input.ts";

const decodeContact = bodyDecoder(ContactSchema);
const decodeWebhook = bodyDecoder(WebhookSchema);
const contactOf = (body: Body) => decodeContact(body).message as Contact;
const webhookOf = (body: Body) => decodeWebhook(body).message as Webhook;

function violationsOf(decode: () => unknown): string[] {
  try {
    decode();
  } catch (error) {
    assert.ok(error instanceof Fault && error.code === Code.INVALID_ARGUMENT, String(error));
    return error.violations.map(({ field }) => field);
  }
  return assert.fail("the body was accepted");
}

for (const [input, expected] of [
  [true, true],
  [1, true],
  ["1", true],
  ["true", true],
  ["on", true],
  ["yes", true],
  ["TRUE", true],
  [false, false],
  [0, false],
  ["0", false],
  ["false", false],
  ["off", false],
  ["no", false],
] as const) {
  test(`a switch reads ${JSON.stringify(input)} as ${expected}`, () => {
    assert.equal(webhookOf({ isPublished: input }).isPublished, expected);
  });
}

for (const input of ["maybe", "2", 2, [], {}, ["1"]]) {
  test(`a switch refuses ${JSON.stringify(input)}`, () => {
    assert.deepEqual(
      violationsOf(() => decodeWebhook({ isPublished: input })),
      ["isPublished"],
    );
  });
}

for (const input of ["constructor", "__proto__"]) {
  test(`a switch refuses ${input}, which every object has`, {}, () => {
    assert.deepEqual(
      violationsOf(() => decodeWebhook({ isPublished: input })),
      ["isPublished"],
    );
  });
}

for (const [input, expected] of [
  [5, 5],
  ["5", 5],
  [" 5 ", 5],
  ["-5", -5],
  ["5.0", 5],
  [2147483647, 2147483647],
] as const) {
  test(`a whole number reads ${JSON.stringify(input)}`, () =>
    assert.equal(contactOf({ points: input }).points, expected));
}

for (const input of [1.5, "1.5", "abc", 2147483648, "-2147483649", Number.POSITIVE_INFINITY, [], {}]) {
  test(`a whole number refuses ${JSON.stringify(input)}`, () => {
    assert.deepEqual(
      violationsOf(() => decodeContact({ points: input })),
      ["points"],
    );
  });
}

for (const [input, expected] of [
  ["2024-05-01T10:00:00+02:00", "2024-05-01T08:00:00.000Z"],
  ["2024-05-01 10:00:00", "2024-05-01T10:00:00.000Z"],
  ["2024-05-01", "2024-05-01T00:00:00.000Z"],
] as const) {
  test(`a time reads ${input}, of UTC when it names no zone`, () => {
    const { lastActive } = contactOf({ lastActive: input });
    assert.ok(lastActive);
    assert.equal(new Date(timestampMs(lastActive)).toISOString(), expected);
  });
}

for (const input of ["01-05-2024", "2024-13-45", 5, {}]) {
  test(`a time refuses ${JSON.stringify(input)}`, () => {
    assert.deepEqual(
      violationsOf(() => decodeContact({ lastActive: input })),
      ["lastActive"],
    );
  });
}

test("an empty text, which is how a form writes nothing, does not spoil a number or a time", () => {
  const { message } = decodeContact({ points: "", lastActive: "" });
  assert.equal((message as Contact).points, undefined);
  assert.equal((message as Contact).lastActive, undefined);
});

test("every bad member is named at once", () => {
  const body = { isPublished: "maybe", name: {}, triggers: [{}] };
  assert.deepEqual(
    violationsOf(() => decodeWebhook(body)),
    ["isPublished", "name", "triggers"],
  );
});

test("text reads numbers, and refuses lists and objects", () => {
  assert.equal(webhookOf({ name: 5 }).name, "5");
  assert.deepEqual(
    violationsOf(() => decodeWebhook({ name: ["a"] })),
    ["name"],
  );
});

test("a list of texts reads arrays, keyed objects and a single text", () => {
  assert.deepEqual(webhookOf({ triggers: ["a", "b"] }).triggers, ["a", "b"]);
  assert.deepEqual(webhookOf({ triggers: { "0": "a", x: "b" } }).triggers, ["a", "b"]);
  assert.deepEqual(webhookOf({ triggers: "a" }).triggers, ["a"]);
  assert.deepEqual(webhookOf({ triggers: "" }).triggers, []);
});

test("a member with two names is read under both, and is one member", () => {
  for (const name of ["triggerExistingLeads", "trigger_existing_leads"]) {
    const { message, paths, ignored } = bodyDecoder(PointTriggerSchema)({ [name]: "1" });
    assert.equal((message as PointTrigger).triggerExistingLeads, true);
    assert.deepEqual([paths, ignored], [["trigger_existing_leads"], []]);
  }
});

test("the mask has the proto names of the members that were sent, and no others", () => {
  const { paths } = decodeWebhook({ webhookUrl: "http://a", eventsOrderbyDir: "ASC" });
  assert.deepEqual(paths, ["webhook_url", "events_orderby_dir"]);
});

test("null clears: it is in the mask and not in the message", () => {
  const { message, paths } = decodeWebhook({ description: null, name: null });
  assert.equal((message as Webhook).description, undefined);
  assert.equal((message as Webhook).name, "");
  assert.deepEqual(paths, ["description", "name"]);
});

test("members that only the service sets are ignored, and so are unknown ones", () => {
  const { message, paths } = decodeWebhook({ id: 9, createdBy: 9, dateAdded: "x", nonsense: 1, name: "a" });
  assert.equal((message as Webhook).id, 0);
  assert.deepEqual(paths, ["name"]);
});

test("open members are collected as one JSON object, without those that have a field", () => {
  const { values } = contactOf({ firstname: "Ada", nested: { a: [1] }, points: 1, id: 9, owner: 1 });
  assert.deepEqual(JSON.parse(Buffer.from(values).toString()), { firstname: "Ada", nested: { a: [1] } });
});

test("a member called __proto__ changes nothing but itself", () => {
  const { values } = contactOf(JSON.parse('{"__proto__":{"polluted":true},"firstname":"Ada"}'));
  assert.equal(JSON.parse(Buffer.from(values).toString()).firstname, "Ada");
  assert.equal(({} as { polluted?: boolean }).polluted, undefined);
});

test("raw JSON fields get the JSON of whatever was sent", () => {
  assert.equal(Buffer.from(contactOf({ tags: ["a", "-b"] }).tags).toString(), '["a","-b"]');
});

test("whatever is accepted can be put on the wire", () => {
  const bodies = [
    { points: "5", lastActive: "2024-05-01", tags: "a" },
    { firstname: null, ipAddress: 5 },
  ];
  for (const body of bodies) assert.ok(toBinary(ContactSchema, contactOf(body)));
});
