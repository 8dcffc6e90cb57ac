import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { create, type DescMessage, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { type Bus, connectBus } from "@tidings/bus/connect";
import type { Event } from "@tidings/bus/event";
import { publish } from "@tidings/bus/publish";
import { ensureStream, streamOf } from "@tidings/bus/streams";
import { project, startProjecting } from "@tidings/projection/projecting";
import { startRebuilding } from "@tidings/projection/rebuild";
import { CampaignMembershipChangedSchema } from "@tidings/proto/tidings/campaign/v1/events";
import { PointGroupSchema } from "@tidings/proto/tidings/campaign/v1/point_group";
import { PointTriggerSchema } from "@tidings/proto/tidings/campaign/v1/point_trigger";
import { StageSchema } from "@tidings/proto/tidings/campaign/v1/stage";
import { CategorySchema } from "@tidings/proto/tidings/content/v1/category";
import { EmailSchema } from "@tidings/proto/tidings/content/v1/email";
import {
  type AssetDownloadSchema,
  AssetDownloadsSchema,
  CategorySubscriptionChangedSchema,
  type EmailSendSchema,
  EmailSendsSchema,
  NotificationSendsSchema,
  type PageHitSchema,
  PageHitsSchema,
  PushSubscribedSchema,
  PushUnsubscribedSchema,
  SmsSendsSchema,
  TweetSendsSchema,
} from "@tidings/proto/tidings/content/v1/events";
import { UserSchema } from "@tidings/proto/tidings/identity/v1/user";
import { createLog } from "@tidings/runtime/log";
import { eventually } from "@tidings/testkit/eventually";
import { startTestNats } from "@tidings/testkit/nats";
import { callAs, listQuery } from "../testing/contact-scene.ts";
import { segmentScene } from "../testing/segment-scene.ts";
import { facts } from "./facts.ts";
import { contactProjections } from "./keeping.ts";

let scene: Awaited<ReturnType<typeof segmentScene>>;
before(async () => {
  scene = await segmentScene();
});
after(() => scene.close());

const noon = timestampFromDate(new Date("2024-05-01T12:00:00Z"));

function event<S extends DescMessage>(
  subject: string,
  schema: S,
  message: MessageInitShape<S>,
  { id = 1, version = 1 } = {},
): Event {
  return {
    id: randomUUID(),
    subject: `tidings.${subject}`,
    aggregateId: id,
    aggregateVersion: version,
    time: "2024-05-01T12:00:00Z",
    traceparent: undefined,
    actor: undefined,
    payload: toBinary(schema, create(schema, message)),
  };
}

const sends = (verb: string, ...all: MessageInitShape<typeof EmailSendSchema>[]) =>
  event(`content.email.${verb}`, EmailSendsSchema, { sends: all });
const hits = (...all: MessageInitShape<typeof PageHitSchema>[]) =>
  event("content.page.hit", PageHitsSchema, { hits: all.map((hit) => ({ id: randomUUID(), ...hit })) });
const downloads = (...all: MessageInitShape<typeof AssetDownloadSchema>[]) =>
  event("content.asset.downloaded", AssetDownloadsSchema, {
    downloads: all.map((download) => ({ id: randomUUID(), dateAdded: noon, ...download })),
  });

const optionsOf = () => ({
  ...scene.services,
  service: "contact",
  ...contactProjections(scene.services),
  listSnapshots: async () => [],
  listFacts: async () => ({ events: [], next: undefined }),
});
const tell = (...events: Event[]) => project(optionsOf(), "test", events);

const merge = (id: number, mergedId: number) =>
  scene.handlers.mergeContacts(
    { $typeName: "tidings.contact.v1.MergeContactsRequest", id, mergedId },
    callAs(),
  );

async function found(search: string): Promise<number[]> {
  const { contacts = [] } = await scene.handlers.listContacts(
    {
      $typeName: "tidings.contact.v1.ListContactsRequest",
      query: listQuery({ search, order: [{ column: "id", descending: false }] as never }),
    },
    callAs(),
  );
  return contacts.map(({ id }) => id ?? 0);
}

async function isFound(
  contactId: number,
  field: string,
  operator: string,
  filter: unknown,
): Promise<boolean> {
  const { id } = await scene.addSegment([{ field, object: "behaviors", operator, filter }]);
  const why = await scene.segments.explainSegmentContact(
    { $typeName: "tidings.contact.v1.ExplainSegmentContactRequest", id, contactId },
    { ...callAs() },
  );
  return why.isMatched ?? false;
}

test("events of other services are kept, bad ones are dead-lettered, and segments follow", async () => {
  const nats = await startTestNats();
  const bus: Bus = connectBus({ url: nats.url, name: "test", log: createLog("test", "silent") });
  const projecting = startProjecting({ ...optionsOf(), bus });
  try {
    const contactId = await scene.addContact({ firstname: "Ada" });
    const { id } = await scene.addSegment([
      { field: "lead_email_received", object: "behaviors", operator: "in", filter: [7_001] },
    ]);
    await scene.build();
    await eventually(async () => {
      for (const owner of ["identity", "content", "campaign"]) await ensureStream(bus, streamOf(owner));
    });
    const sendId = randomUUID();
    await publish(bus, sends("sent", { id: "none", contactId, emailId: 7_002, dateSent: noon }));
    const sent = { id: sendId, contactId, emailId: 7_001, dateSent: noon };
    await publish(bus, sends("sent", { ...sent, version: 1 }));
    await publish(bus, sends("opened", { ...sent, version: 2, dateRead: noon, readCount: 1 }));
    await publish(
      bus,
      event(
        "identity.user.created",
        UserSchema,
        { id: 41, username: "olga", firstName: "Olga", lastName: "Owner" },
        { id: 41 },
      ),
    );
    await publish(
      bus,
      event("campaign.stage.created", StageSchema, { name: "Lead", isPublished: true }, { id: 42 }),
    );
    await eventually(async () => {
      assert.deepEqual(await scene.members(id), [contactId]);
      const names = await scene.query(
        "select first_name as name from owners where id = 41 union all select name from stages where id = 42",
      );
      assert.deepEqual(names.map(({ name }) => name).toSorted(), ["Lead", "Olga"]);
    });
  } finally {
    await projecting.stop();
    await bus.close();
    await nats.stop();
  }
});

describe("facts about a contact", () => {
  const facts: [
    name: string,
    make: (contactId: number) => Event[],
    filters: [string, string, unknown, boolean][],
  ][] = [
    [
      "an email that was sent and opened",
      (contactId) => {
        const queued = { id: randomUUID(), contactId, emailId: 3, dateQueued: noon };
        const sent = { ...queued, version: 1, dateSent: noon };
        return [
          sends("queued", queued),
          sends("sent", sent),
          sends("opened", { ...sent, version: 2, dateRead: noon, readCount: 2 }),
        ];
      },
      [
        ["lead_email_sent", "in", [3], true],
        ["lead_email_sent", "!in", [3], false],
        ["lead_email_received", "in", [3, 4], true],
        ["lead_email_received", "in", [4], false],
        ["lead_email_sent_date", "=", "2024-05-01", true],
        ["lead_email_read_date", "gt", "2024-05-02", false],
        ["lead_email_read_count", "gte", 2, true],
        ["lead_email_read_count", "gt", 2, false],
      ],
    ],
    [
      "pages and links",
      (contactId) => [
        hits(
          {
            contactId,
            dateHit: noon,
            url: "https://example.com/prices?a=1",
            urlTitle: "Prices",
            referer: "https://search.example",
            pageId: 5,
          },
          {
            contactId,
            dateHit: timestampFromDate(new Date("2024-05-01T12:20:00Z")),
            url: "https://example.com/order",
          },
        ),
        hits(
          {
            contactId,
            dateHit: timestampFromDate(new Date("2024-05-01T13:00:00Z")),
            url: "https://example.com/again",
          },
          {
            contactId,
            dateHit: noon,
            url: "https://example.com/link",
            source: "email",
            sourceId: 9,
            redirectId: 8,
            emailId: 9,
          },
        ),
      ],
      [
        ["hit_url", "like", "prices", true],
        ["hit_url", "!like", "prices", false],
        ["hit_url", "startsWith", "http://", false],
        ["hit_url", "regexp", "order$", true],
        ["hit_url_date", "lt", "2024-05-02", true],
        ["hit_url_count", "=", 4, true],
        ["sessions", "=", 2, true],
        ["url_title", "=", "prices", true],
        ["referer", "contains", "search", true],
        ["source", "=", "email", true],
        ["source_id", "=", 9, true],
        ["page_id", "=", 1, true],
        ["redirect_id", "=", 1, true],
        ["email_id", "=", 1, true],
        ["email_clicked_link_date", "=", "2024-05-01", true],
        ["sms_clicked_link", "=", 1, false],
        ["sms_clicked_link", "!=", 1, true],
      ],
    ],
    [
      "all the rest",
      (contactId) => [
        downloads({ contactId, assetId: 2 }),
        event("content.push.subscribed", PushSubscribedSchema, { contactId, pushId: "p" }, { id: contactId }),
        event(
          "content.category.subscription_changed",
          CategorySubscriptionChangedSchema,
          { contactId, categoryId: 6, isSubscribed: true },
          { id: contactId },
        ),
        event("campaign.campaign.membership_changed", CampaignMembershipChangedSchema, {
          contactId,
          campaignId: 4,
          dateAdded: noon,
        }),
      ],
      [
        ["lead_asset_download", "in", [2], true],
        ["lead_asset_download", "empty", "", false],
        ["notification", "=", true, true],
        ["globalcategory", "in", [6], true],
        ["globalcategory", "!in", [6], false],
        ["campaign", "in", "4", true],
        ["campaign", "!empty", "", true],
      ],
    ],
  ];
  for (const [name, make, filters] of facts) {
    test(`${name}: filters find them, and nothing of it in a contact without`, async () => {
      const [contactId, other] = [await scene.addContact({}), await scene.addContact({})];
      await tell(...make(contactId));
      for (const [field, operator, filter, expected] of filters)
        assert.equal(
          await isFound(contactId, field, operator, filter),
          expected,
          `${field} ${operator} ${filter}`,
        );
      assert.equal(
        await isFound(other, filters[0]?.[0] ?? "", filters[0]?.[1] ?? "", filters[0]?.[2]),
        false,
      );
    });
  }

  test("a fact that arrives twice, or after a later version of it, changes nothing", async () => {
    const contactId = await scene.addContact({});
    const id = randomUUID();
    const opened = (version: number, readCount: number) =>
      sends("opened", { id, version, contactId, emailId: 11, dateRead: noon, readCount });
    const [first, third] = [opened(1, 1), opened(3, 3)];
    await tell(third, third);
    await tell(first);
    await tell(third);
    const [send] = await scene.query("select read_count, date_sent from email_sends where id = $1", [id]);
    assert.deepEqual(send, { read_count: "3", date_sent: null });
    const inbox = await scene.query("select event_id from inbox where event_id = any($1::uuid[])", [
      [first.id, third.id],
    ]);
    assert.deepEqual(inbox, []);
    const membership = (version: number, manuallyRemoved: boolean) =>
      event(
        "campaign.campaign.membership_changed",
        CampaignMembershipChangedSchema,
        { contactId, campaignId: 12, dateAdded: noon, manuallyRemoved },
        { version },
      );
    await tell(membership(2, true), membership(1, false));
    await tell(membership(1, false));
    assert.equal(await isFound(contactId, "campaign", "in", [12]), false);
  });

  test("facts of a deleted contact are dropped, and those of a merged contact belong to the survivor", async () => {
    const [survivor, merged] = [await scene.addContact({}), await scene.addContact({})];
    const download = (contactId: number) => downloads({ contactId, assetId: 21 });
    const push = event(
      "content.push.subscribed",
      PushSubscribedSchema,
      { contactId: merged, pushId: "q" },
      { id: merged },
    );
    await tell(download(merged), push);
    await merge(survivor, merged);
    await tell(download(merged), download(2_000_000_000));
    const rows = await scene.query("select contact_id from asset_downloads where asset_id = 21");
    assert.deepEqual(rows, [{ contact_id: String(survivor) }, { contact_id: String(survivor) }]);
    assert.equal(await isFound(survivor, "notification", "=", 1), true);
    await tell(
      event(
        "content.push.unsubscribed",
        PushUnsubscribedSchema,
        { contactId: merged, pushId: "q" },
        { id: merged, version: 2 },
      ),
    );
    assert.equal(await isFound(survivor, "notification", "=", 1), false);
  });
});

describe("a subscription", () => {
  const push = (contactId: number, verb: "subscribed" | "unsubscribed", version: number, id = contactId) =>
    event(
      `content.push.${verb}`,
      verb === "subscribed" ? PushSubscribedSchema : PushUnsubscribedSchema,
      { contactId, pushId: "browser" },
      { id, version },
    );
  const category = (contactId: number, isSubscribed: boolean, version: number) =>
    event(
      "content.category.subscription_changed",
      CategorySubscriptionChangedSchema,
      { contactId, categoryId: 61, isSubscribed },
      { id: contactId, version },
    );
  const kept = async (contactId: number) => {
    const [row] = await scene.query(
      `select exists (select from push_ids where contact_id = $1) as push,
         exists (select from contact_categories where contact_id = $1) as category`,
      [contactId],
    );
    return row;
  };

  test("several changes in one batch leave the state of the last one", async () => {
    const [on, off] = [await scene.addContact({}), await scene.addContact({})];
    await tell(
      push(on, "subscribed", 1),
      push(on, "unsubscribed", 2),
      push(on, "subscribed", 3),
      category(on, false, 2),
      category(on, true, 3),
      push(off, "unsubscribed", 2),
      push(off, "subscribed", 1),
      category(off, false, 2),
      category(off, true, 1),
    );
    assert.deepEqual(await kept(on), { push: "t", category: "t" });
    assert.deepEqual(await kept(off), { push: "f", category: "f" });
  });

  test("a late event does not bring back a subscription that was given up", async () => {
    const contactId = await scene.addContact({});
    await tell(push(contactId, "unsubscribed", 2), category(contactId, false, 2));
    await tell(push(contactId, "subscribed", 1), category(contactId, true, 1));
    assert.deepEqual(await kept(contactId), { push: "f", category: "f" });
  });

  test("a subscription that is given up while its contact is merged is given up", async () => {
    for (let round = 0; round < 20; round += 1) {
      const [survivor, merged] = [await scene.addContact({}), await scene.addContact({})];
      await tell(push(merged, "subscribed", 1), category(merged, true, 1));
      await Promise.all([
        merge(survivor, merged),
        tell(push(merged, "unsubscribed", 2), category(merged, false, 2)),
      ]);
      assert.deepEqual(await kept(survivor), { push: "f", category: "f" }, `round ${round}`);
    }
  });
});

test("a campaign left while the contact is merged is left", async () => {
  const membership = (contactId: number, version: number, manuallyRemoved: boolean) =>
    event(
      "campaign.campaign.membership_changed",
      CampaignMembershipChangedSchema,
      { contactId, campaignId: 71, dateAdded: noon, manuallyRemoved },
      { id: contactId, version },
    );
  for (let round = 0; round < 20; round += 1) {
    const [survivor, merged] = [await scene.addContact({}), await scene.addContact({})];
    await tell(membership(merged, 1, false));
    await Promise.all([merge(survivor, merged), tell(membership(merged, 2, true))]);
    const rows = await scene.query(
      "select version, manually_removed from campaign_contacts where contact_id = $1",
      [survivor],
    );
    assert.deepEqual(rows, [{ version: "2", manually_removed: "t" }], `round ${round}`);
  }
});

test("a merge moves the facts of every kind, and what the survivor has already stays", async () => {
  const [survivor, merged] = [await scene.addContact({}), await scene.addContact({})];
  const factsOf = (contactId: number, campaignId: number) => [
    sends("sent", { id: randomUUID(), contactId, emailId: 81, dateSent: noon }),
    hits({ contactId, dateHit: noon, pageId: 81 }),
    event("content.sms.sent", SmsSendsSchema, {
      sends: [{ id: randomUUID(), contactId, smsId: 81, dateAdded: noon }],
    }),
    event("content.notification.sent", NotificationSendsSchema, {
      sends: [{ id: randomUUID(), contactId, notificationId: 81, dateAdded: noon }],
    }),
    event("content.tweet.sent", TweetSendsSchema, {
      sends: [
        { id: randomUUID(), contactId, tweetId: 81, dateAdded: noon },
        { id: randomUUID(), contactId, tweetId: 81 },
      ],
    }),
    downloads({ contactId, assetId: 81 }),
    event(
      "content.push.subscribed",
      PushSubscribedSchema,
      { contactId, pushId: `${campaignId}` },
      { id: -campaignId },
    ),
    event(
      "content.category.subscription_changed",
      CategorySubscriptionChangedSchema,
      { contactId, categoryId: 81, isSubscribed: true },
      { id: -campaignId },
    ),
    event(
      "content.category.subscription_changed",
      CategorySubscriptionChangedSchema,
      { contactId, categoryId: 82, isSubscribed: false },
      { id: -campaignId - 1_000 },
    ),
    event("campaign.campaign.membership_changed", CampaignMembershipChangedSchema, {
      contactId,
      campaignId,
      dateAdded: noon,
    }),
  ];
  await tell(...factsOf(survivor, 82), ...factsOf(merged, 83));
  await merge(survivor, merged);
  const count = async (table: string) => {
    const rows = await scene.query(`select contact_id from ${table} where contact_id = any($1::integer[])`, [
      [survivor, merged],
    ]);
    return rows.every(({ contact_id }) => contact_id === String(survivor)) ? rows.length : "left behind";
  };
  const tables = `email_sends page_hits sms_sends notification_sends tweet_sends asset_downloads push_ids campaign_contacts`;
  for (const table of tables.split(" ")) assert.equal(await count(table), 2, table);
  for (const table of ["contact_categories", "refused_categories"])
    assert.equal(await count(table), 1, table);
});

test("replicas have the latest version, in whatever order events arrive", async () => {
  const category = (title: string, version: number) =>
    event(
      "content.category.updated",
      CategorySchema,
      { title, alias: title, bundle: "segment" },
      { id: 31, version },
    );
  const deleted = event("content.category.deleted", CategorySchema, {}, { id: 31, version: 4 });
  const titles = async () =>
    (await scene.query("select title from categories where id = 31")).map(({ title }) => title);
  await tell(category("second", 2), category("first", 1));
  assert.deepEqual(await titles(), ["second"]);
  await tell(category("third", 3));
  assert.deepEqual(await titles(), ["third"]);
  await tell(deleted, category("third", 3));
  await tell(category("second", 2));
  assert.deepEqual(await titles(), []);
});

test("a contact has the colour its points give it, in answers and for webhooks, and none that a group's give", async () => {
  const id = await scene.addContact({ firstname: "Colourful" });
  const trigger = (version: number, group?: { id: number }) =>
    event(
      "campaign.point_trigger.updated",
      PointTriggerSchema,
      { points: 0, color: "00ff00", isPublished: true, ...(group && { group }) },
      { id: 61, version },
    );
  const hasColor = (color: string | undefined) =>
    eventually(async () => {
      const contact = await scene.handlers.getContact(
        { $typeName: "tidings.contact.v1.GetContactRequest", id },
        callAs(),
      );
      assert.equal(contact.color, color);
    });
  await tell(trigger(1));
  await hasColor("00ff00");
  const group = (verb: string, version: number) =>
    event(`campaign.point_group.${verb}`, PointGroupSchema, { name: "Sales" }, { id: 71, version });
  await tell(group("created", 1), trigger(2, { id: 71 }));
  await hasColor(undefined);
  await tell(group("deleted", 2));
  await hasColor("00ff00");
  await tell(event("campaign.point_trigger.deleted", PointTriggerSchema, {}, { id: 61, version: 3 }));
  await hasColor(undefined);
});

test("a stage shows its category until that is gone", async () => {
  const stage = { name: "Won", isPublished: true, category: { id: 81 } };
  const category = { title: "Sales", alias: "sales", bundle: "stage" };
  await tell(
    event("content.category.created", CategorySchema, category, { id: 81 }),
    event("campaign.stage.created", StageSchema, stage, { id: 82 }),
  );
  const id = await scene.addContact({ firstname: "Staged" });
  await scene.handlers.setContactStage(
    { $typeName: "tidings.contact.v1.SetContactStageRequest", id, stageId: 82, isRemoved: false },
    callAs(),
  );
  const categoryOf = async () => {
    const { stage: shown } = await scene.handlers.getContact(
      { $typeName: "tidings.contact.v1.GetContactRequest", id },
      callAs(),
    );
    return JSON.parse(Buffer.from(shown ?? []).toString()).category;
  };
  assert.equal((await categoryOf()).title, "Sales");
  await tell(event("content.category.deleted", CategorySchema, category, { id: 81, version: 2 }));
  assert.equal(await categoryOf(), null);
});

test("replicas of facts are built from nothing out of what their owner lists", async () => {
  const contactId = await scene.addContact({ city: "Built" });
  const fact = { id: randomUUID(), contactId, dateAdded: noon };
  const listed = new Map<string, Uint8Array>(
    [
      sends("sent", { ...fact, emailId: 71, dateSent: noon, version: 3 }),
      hits({ ...fact, dateHit: noon, url: "https://a.example" }),
      event("content.asset.downloaded", AssetDownloadsSchema, {
        downloads: [{ ...fact, assetId: 72, code: 200 }],
      }),
      event("content.sms.sent", SmsSendsSchema, { sends: [{ ...fact, smsId: 73 }] }),
      event("content.notification.sent", NotificationSendsSchema, {
        sends: [{ ...fact, notificationId: 74 }],
      }),
      event("content.tweet.sent", TweetSendsSchema, { sends: [{ ...fact, tweetId: 75 }] }),
    ].flatMap(({ subject, payload }) => {
      const replica = facts.find(({ subjects }) => subjects.includes(subject));
      return replica?.listed ? [[replica.listed.type, payload] as const] : [];
    }),
  );
  assert.equal(listed.size, facts.length);
  const tables = facts.map(({ table }) => table);
  await scene.query("delete from projection_builds where name = any ($1)", [tables]);
  const { database } = scene.services;
  const building = startRebuilding(
    {
      database,
      log: createLog("test", "silent"),
      projections: facts,
      opened: async () => undefined,
      listSnapshots: async () => [],
      listFacts: async (_owner, { type }) => ({
        events: [listed.get(type) ?? new Uint8Array()],
        next: undefined,
      }),
    },
    (events) => project({ database, projections: facts }, undefined, events),
  );
  after(() => building.stop());
  await eventually(async () => {
    const done = await scene.query(
      "select name from projection_builds where name = any ($1) and done_at is not null",
      [tables],
    );
    assert.equal(done.length, tables.length);
  });
  for (const table of tables)
    assert.equal(
      (await scene.query(`select from ${table} where contact_id = $1`, [contactId])).length,
      1,
      table,
    );
});

test("email_pending finds members who may get a mail of the family and got none, and who are in no excluded segment", async () => {
  const names = [
    "pending",
    "sent the variant",
    "without an address",
    "refused",
    "twin refused",
    "excluded",
    "category",
  ];
  const ids = new Map<string, number>();
  for (const name of names) ids.set(name, await scene.addContact({ city: "Pending" }));
  const idOf = (name: string) => ids.get(name) ?? 0;
  const write = (name: string, values: string) =>
    scene.query(`update contacts set ${values} where id = $1`, [idOf(name)]);
  for (const [name, id] of ids)
    if (!name.startsWith("without")) await write(name, `email = 'p${id}@example.com'`);
  const no = `do_not_contact = '{"email":{"reason":1}}'`;
  await write("refused", no);
  const twin = await scene.addContact({ city: "Elsewhere" });
  await scene.query(
    `update contacts set email = 'P${idOf("twin refused")}@example.com', ${no} where id = $1`,
    [twin],
  );
  const [segment, excluded] = [await scene.addSegment([]), await scene.addSegment([])];
  const join = (id: number, contactIds: number[]) =>
    scene.segments.addSegmentContacts(
      { $typeName: "tidings.contact.v1.AddSegmentContactsRequest", id, contactIds },
      callAs(),
    );
  await join(segment.id, [...ids.values()]);
  await join(excluded.id, [idOf("excluded")]);
  const lists = [{ id: segment.id }];
  const choice = (isSubscribed: boolean, version: number) =>
    event(
      "content.category.subscription_changed",
      CategorySubscriptionChangedSchema,
      { contactId: idOf("category"), categoryId: 64, isSubscribed },
      { id: -64, version },
    );
  await tell(
    event(
      "content.email.created",
      EmailSchema,
      { name: "Mail", lists, excludedLists: [{ id: excluded.id }], category: { id: 64 } },
      { id: 61 },
    ),
    event("content.email.created", EmailSchema, { name: "B", lists, variantParent: { id: 61 } }, { id: 62 }),
    event(
      "content.email.created",
      EmailSchema,
      { name: "C", lists, translationParent: { id: 62 } },
      { id: 63 },
    ),
    sends("sent", {
      id: randomUUID(),
      version: 1,
      contactId: idOf("sent the variant"),
      emailId: 63,
      dateSent: noon,
    }),
    choice(false, 1),
  );
  assert.deepEqual(await found("city:pending email_pending:61"), [idOf("pending")]);
  assert.deepEqual(await found("city:pending !email_pending:61"), names.slice(1).map(idOf));
  await tell(choice(true, 2));
  assert.deepEqual(await found("city:pending email_pending:61"), [idOf("pending"), idOf("category")]);
});

test("searches find what was done and what was not", async () => {
  const [active, idle] = [
    await scene.addContact({ city: "Search" }),
    await scene.addContact({ city: "Search" }),
  ];
  const contactId = active;
  await scene.query("update contacts set email = 'search' || id || '@example.com' where id = any ($1)", [
    [active, idle],
  ]);
  const segment = await scene.addSegment([]);
  await scene.segments.addSegmentContacts(
    { $typeName: "tidings.contact.v1.AddSegmentContactsRequest", id: segment.id, contactIds: [active, idle] },
    callAs(),
  );
  const sent = { id: randomUUID(), contactId, emailId: 51, dateSent: noon };
  const notifications = [{ notificationId: 54 }, { notificationId: 55, isMobile: true }];
  await tell(
    event("content.email.created", EmailSchema, { name: "Mail", lists: [{ id: segment.id }] }, { id: 51 }),
    sends("sent", { ...sent, version: 1 }),
    sends("opened", { ...sent, version: 2, dateRead: noon, readCount: 1 }),
    sends("queued", { id: randomUUID(), contactId, emailId: 52, dateQueued: noon }),
    event("content.sms.sent", SmsSendsSchema, {
      sends: [{ id: randomUUID(), contactId, smsId: 53, dateAdded: noon }],
    }),
    event("content.notification.sent", NotificationSendsSchema, {
      sends: notifications.map((sent) => ({ id: randomUUID(), contactId, dateAdded: noon, ...sent })),
    }),
    hits({
      contactId,
      dateHit: noon,
      url: "https://a.example",
      source: "campaign.event",
      sourceId: 57,
      pageId: 56,
    }),
  );
  const commands =
    "email_sent:51 email_read:51 email_queued:52 sms_sent:53 web_sent:54 mobile_sent:55 page_id:56 page_source:campaign.event page_source_id:57";
  for (const command of commands.split(" ")) {
    assert.deepEqual(await found(`city:search ${command}`), [active], command);
    assert.deepEqual(await found(`city:search !${command}`), [idle], `!${command}`);
  }
  assert.deepEqual(await found("city:search email_pending:51"), [idle]);
  assert.deepEqual(await found("city:search !email_pending:51"), [active]);
  assert.deepEqual(await found("email_sent:nothing"), []);
  assert.deepEqual(await found(`city:search segment:${segment.alias}`), [active, idle]);
  assert.deepEqual(await found(`common:${segment.alias}+unknown`), []);
});
