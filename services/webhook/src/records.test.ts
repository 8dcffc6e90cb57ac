import assert from "node:assert/strict";
import { test } from "node:test";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { ContactDeletedSchema, ContactSavedSchema } from "@tidings/proto/tidings/contact/v1/events";
import { type ContactSnapshot, ContactSnapshotSchema } from "@tidings/proto/tidings/contact/v1/snapshot";
import { isOutage } from "@tidings/rpc/outage";
import { occurrencesOf } from "./occurrences-of.ts";
import { recordWriter } from "./records.ts";
import { event } from "./testing/events.ts";
import { openScene } from "./testing/scene.ts";

/** A contact service with these contacts. */
const ownerOf = (contacts: ContactSnapshot[]) => ({
  contacts: async (ids: number[]) => contacts.filter(({ id }) => ids.includes(id)),
  companies: async () => [],
});
const snapshotOf = (values: MessageInitShape<typeof ContactSnapshotSchema>) =>
  create(ContactSnapshotSchema, { id: 7, isPublished: true, ...values });
const recently = () => new Date().toISOString();
const longAgo = "2020-01-01T00:00:00Z";

type Scene = Awaited<ReturnType<typeof openScene>>;

async function define(scene: Scene): Promise<void> {
  await scene.query(`insert into fields (id, version, object, alias, label, type, field_group, field_order, is_published, is_fixed,
      default_value, properties)
    values (2, 1, 'lead', 'firstname', 'First Name', 'text', 'core', 1, true, true, null, '{}'),
      (28, 1, 'lead', 'attribution', 'Attribution', 'number', 'core', 2, true, true, null, '{"scale": 2}'),
      (50, 1, 'lead', 'colour', 'Colour', 'select', 'personal', 3, true, false, null, '{"list": [{"label": "Red!", "value": "r"}]}'),
      (51, 1, 'lead', 'hidden', 'Hidden', 'text', 'core', 4, false, false, null, '{}')`);
  await scene.query(
    "insert into point_triggers (id, version, points, color, is_published) values (1, 1, 5, 'ff0000', true)",
  );
  await scene.query(
    "insert into projection_builds (name, done_at) values ('fields', now()), ('point_triggers', now())",
  );
}

test("a contact is written with the definitions of fields and the colours that this service replicates", async () => {
  await using scene = await openScene();
  await define(scene);
  const time = timestampFromDate(new Date("2026-01-02T03:04:05Z"));
  const snapshot = snapshotOf({
    dateAdded: time,
    createdBy: 1,
    points: 6,
    ownerId: 4,
    owner: { id: 4, username: "ada", firstName: "Ada" },
    firstname: 'A "B"',
    attribution: 12.5,
    addedFields: { colour: "r", hidden: "x" },
    doNotContact: { email: { id: 3, reason: 1, comments: "no", dateAdded: time } },
    frequencyRules: { sms: { frequencyNumber: 2, frequencyTime: "DAY" } },
    utmTags: [{ id: 9, query: { a: [1] }, utmSource: "mail" }],
  });
  const writer = recordWriter(scene.database, ownerOf([]));
  const [rendered] = await writer.contacts([{ snapshot, time: recently() }]);
  assert.equal(rendered?.ownerId, 4);
  const { fields, ...members } = JSON.parse(rendered.json);
  assert.deepEqual(members, {
    isPublished: true,
    dateAdded: "2026-01-02T03:04:05+00:00",
    dateModified: null,
    createdBy: 1,
    createdByUser: null,
    modifiedBy: null,
    modifiedByUser: null,
    id: 7,
    points: 6,
    color: "ff0000",
    lastActive: null,
    dateIdentified: null,
    owner: {
      id: 4,
      username: "ada",
      firstName: "Ada",
      lastName: null,
      createdByUser: null,
      modifiedByUser: null,
    },
    stage: null,
    ipAddresses: [],
    tags: [],
    utmtags: [
      {
        id: 9,
        query: { a: [1] },
        referer: null,
        remoteHost: null,
        url: null,
        userAgent: null,
        utmCampaign: null,
        utmContent: null,
        utmMedium: null,
        utmSource: "mail",
        utmTerm: null,
      },
    ],
    doNotContact: [
      {
        id: 3,
        reason: 1,
        comments: "no",
        channelId: null,
        dateAdded: "2026-01-02T03:04:05+00:00",
        channel: "email",
      },
    ],
    frequencyRules: {
      sms: {
        channel: "sms",
        pauseToDate: null,
        frequencyTime: "DAY",
        pauseFromDate: null,
        frequencyNumber: 2,
        preferredChannel: false,
      },
    },
    preferredProfileImage: "gravatar",
  });
  assert.deepEqual(Object.keys(fields), ["core", "social", "personal", "professional"]);
  assert.deepEqual(Object.keys(fields.core), ["firstname", "attribution"]);
  assert.equal(fields.core.firstname.value, 'A "B"');
  assert.equal(fields.core.attribution.value, 12.5);
  assert.deepEqual([fields.personal.colour.value, fields.personal.colour.normalizedValue], ["r", "Red!"]);
});

test("a contact that an event names by its id is sent as it is now, and by its id alone when it is gone", async () => {
  await using scene = await openScene();
  await define(scene);
  const writer = recordWriter(scene.database, ownerOf([snapshotOf({ firstname: "Ada", ownerId: 2 })]));
  const [here, gone] = await writer.contacts([
    { id: 7, time: recently() },
    { id: 8, time: recently() },
  ]);
  assert.equal(JSON.parse(here?.json ?? "").fields.core.firstname.value, "Ada");
  assert.equal(here?.ownerId, 2);
  assert.deepEqual(gone, { json: '{"id":8}', ownerId: 0 });
});

test("the lead of a hit has its id, points, colour and fields; a merged contact is its survivor, an erased one is absent", async () => {
  await using scene = await openScene();
  await define(scene);
  await scene.query("insert into contact_fates (contact_id, merged_into_id) values (8, 7), (9, null)");
  const writer = recordWriter(
    scene.database,
    ownerOf([snapshotOf({ points: 6, firstname: "Ada", ownerId: 2 })]),
  );
  const sources = [7, 8, 9, 0].map((contactId) => ({ contactId, time: recently() }));
  const [here, merged, erased, nobody] = await writer.leads(sources);
  const { fields, ...members } = JSON.parse(here?.json ?? "");
  assert.deepEqual(members, { id: 7, points: 6, color: "ff0000" });
  assert.deepEqual(Object.keys(fields), ["core", "social", "personal", "professional"]);
  assert.equal(fields.core.firstname.value, "Ada");
  assert.equal(here?.ownerId, 2);
  assert.deepEqual(merged, here);
  assert.equal(erased, undefined);
  assert.deepEqual(nobody, { json: "null", ownerId: 0 });
  const [recipient] = await writer.leads([{ contactId: 7, as: "flat", time: recently() }]);
  const values = { id: 7, firstname: "Ada", attribution: null, colour: null };
  assert.deepEqual(JSON.parse(recipient?.json ?? ""), values);
});

test("a recent hit waits for its contact to be created, and an older one fails alone", async () => {
  await using scene = await openScene();
  await define(scene);
  const contacts: ContactSnapshot[] = [];
  const writer = recordWriter(scene.database, ownerOf(contacts));
  const lead = (time: string) => writer.leads([{ contactId: 7, time }]);
  await assert.rejects(lead(recently()), (error) => isOutage(error));
  await assert.rejects(lead(longAgo), (error) => !isOutage(error) && /not known yet: 7/.test(String(error)));
  // Its survivor was merged in turn, and that is not known here yet.
  await scene.query("insert into contact_fates (contact_id, merged_into_id) values (7, 6)");
  await assert.rejects(lead(recently()), (error) => isOutage(error));
  contacts.push(snapshotOf({}));
  const [rendered] = await lead(longAgo);
  assert.equal(JSON.parse(rendered?.json ?? "").id, 7);
});

test("events wait until the definitions of fields are replicated, and for the field of a value that is on its way", async () => {
  await using scene = await openScene();
  const writer = recordWriter(scene.database, ownerOf([]));
  const write = (time: string, added: Record<string, string>) =>
    writer.contacts([{ snapshot: snapshotOf({ addedFields: added }), time }]);
  const waits = (time: string, added = {}) => assert.rejects(write(time, added), (error) => isOutage(error));
  await waits(longAgo);
  await define(scene);
  await write(longAgo, {});
  await waits(recently(), { colour: "r", shoe_size: "43" });
  await scene.query(`insert into fields (id, version, object, alias, label, type, field_group, field_order, is_published, is_fixed,
      default_value, properties)
    values (52, 1, 'lead', 'shoe_size', 'Shoe size', 'number', 'core', 9, true, false, null, '{}')`);
  const [rendered] = await write(recently(), { shoe_size: "43" });
  assert.equal(JSON.parse(rendered?.json ?? "").fields.core.shoe_size.value, 43);
});

test("a value whose field was deleted since is left out", async () => {
  await using scene = await openScene();
  await define(scene);
  const writer = recordWriter(scene.database, ownerOf([]));
  const snapshot = snapshotOf({ addedFields: { deleted_since: "x" } });
  const [rendered] = await writer.contacts([{ snapshot, time: longAgo }]);
  assert.equal(rendered?.json.includes("deleted_since"), false);
});

test("an event from before snapshots were messages is read from its row, and one without a row by its id", () => {
  const row = (values: object) => Buffer.from(JSON.stringify(values));
  const stored = {
    id: "7",
    is_published: "t",
    points: "3",
    firstname: "Ada",
    shoe_size: "43",
    owner_id: "4",
  };
  const contactOf = (
    verb: string,
    schema: typeof ContactSavedSchema | typeof ContactDeletedSchema,
    values: object,
  ) => occurrencesOf(event(verb, schema, values))[0]?.contact;
  for (const contact of [
    contactOf("updated", ContactSavedSchema, { row: row(stored), identified: true }),
    contactOf("deleted", ContactDeletedSchema, { row: row({ ...stored, id: undefined }) }),
  ]) {
    assert.ok(contact && "snapshot" in contact);
    const { points, firstname, ownerId, addedFields } = contact.snapshot;
    assert.deepEqual([points, firstname, ownerId, addedFields], [3, "Ada", 4, { shoe_size: "43" }]);
  }
  assert.deepEqual(contactOf("reassigned", ContactSavedSchema, { identified: true }), { id: 7 });
});
