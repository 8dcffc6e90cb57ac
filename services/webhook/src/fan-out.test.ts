import assert from "node:assert/strict";
import { test } from "node:test";
import type { Event } from "@tidings/bus/event";
import {
  CompanyCreatedSchema,
  CompanyDeletedSchema,
  ContactDeletedSchema,
  ContactSavedSchema,
  SegmentMembershipChangedSchema,
} from "@tidings/proto/tidings/contact/v1/events";
import { isOutage } from "@tidings/rpc/outage";
import { occurrencesOf } from "./occurrences-of.ts";
import type { Records } from "./records.ts";
import { event, fanOut, rendered } from "./testing/events.ts";
import { claim, openScene } from "./testing/scene.ts";
import { prefixedTriggers } from "./triggers.ts";

const snapshot = { id: 7 };
const ISO = "2026-11-20T10:00:00+00:00";

const expectations: { what: string; event: Event; item: object | undefined; trigger?: string }[] = [
  {
    what: "a contact created with a name",
    event: event("created", ContactSavedSchema, { snapshot, identified: true }),
    trigger: "svc.lead_post_save_new",
    item: { contact: { id: 7, points: 5 }, timestamp: ISO },
  },
  {
    what: "an anonymous contact",
    event: event("created", ContactSavedSchema, { snapshot, identified: false }),
    item: undefined,
  },
  {
    what: "an anonymous contact that gets a name",
    event: event("updated", ContactSavedSchema, { snapshot, identified: true, newlyIdentified: true }),
    trigger: "svc.lead_post_save_new",
    item: { contact: { id: 7, points: 5 }, timestamp: ISO },
  },
  {
    what: "a change",
    event: event("updated", ContactSavedSchema, { snapshot, identified: true }),
    trigger: "svc.lead_post_save_update",
    item: { contact: { id: 7, points: 5 }, timestamp: ISO },
  },
  {
    what: "a change of an anonymous contact",
    event: event("updated", ContactSavedSchema, { snapshot, identified: false }),
    item: undefined,
  },
  {
    what: "a deletion",
    event: event("deleted", ContactDeletedSchema, { snapshot }),
    trigger: "svc.lead_post_delete",
    item: { id: 7, contact: { id: null, points: 5 }, timestamp: ISO },
  },
  {
    what: "a change of points",
    event: event("updated", ContactSavedSchema, { snapshot, points: { oldPoints: 1, newPoints: 6 } }),
    trigger: "svc.lead_points_change",
    item: { contact: { id: 7, points: 5 }, points: { old_points: 1, new_points: 6 }, timestamp: ISO },
  },
  {
    what: "a channel that is stopped",
    event: event("updated", ContactSavedSchema, {
      snapshot,
      channels: [{ channel: "email", oldStatus: "contactable", newStatus: "manual" }],
    }),
    trigger: "svc.lead_channel_subscription_changed",
    item: {
      contact: { id: 7, points: 5 },
      channel: "email",
      old_status: "contactable",
      new_status: "manual",
      timestamp: ISO,
    },
  },
  {
    what: "a company that is added to a contact",
    event: event("updated", ContactSavedSchema, { snapshot, companies: [{ companyId: 3, added: true }] }),
    trigger: "svc.lead_company_change",
    item: { contact: { id: 7, points: 5 }, company: { id: 3 }, added: true, timestamp: ISO },
  },
  {
    what: "a company that is made",
    event: event("created", CompanyCreatedSchema, { snapshot }, "company"),
    trigger: "svc.company_post_save",
    item: { company: { id: 3 }, timestamp: ISO },
  },
  {
    what: "a company that is deleted",
    event: event("deleted", CompanyDeletedSchema, { snapshot }, "company"),
    trigger: "svc.company_post_delete",
    item: { id: 7, company: { id: null }, timestamp: ISO },
  },
  {
    what: "points that stay below zero",
    event: event("updated", ContactSavedSchema, { snapshot, points: { oldPoints: -5, newPoints: 0 } }),
    item: undefined,
  },
];

for (const { what, event, item, trigger } of expectations) {
  test(`${what} ${trigger ? `fires ${trigger}` : "fires nothing"}`, async () => {
    await using scene = await openScene();
    const triggers = [...prefixedTriggers("svc").map(({ name }) => name), "svc.unheard_of"];
    await scene.webhook({ url: "http://127.0.0.1:1/", triggers });
    await fanOut(scene, [event]);
    const rows = await scene.query("select event_id, body from deliveries");
    if (!item || !trigger) return assert.deepEqual(rows, []);
    assert.equal(rows.length, 1);
    assert.equal(rows[0]?.body, JSON.stringify({ [trigger]: [item] }));
  });
}

test("a save fires a trigger for each kind of change, each with an id of its own, once however often the event comes", async () => {
  await using scene = await openScene();
  const triggers = prefixedTriggers("svc").map(({ name }) => name);
  await scene.webhook({ url: "http://127.0.0.1:1/", triggers });
  const saved = event("updated", ContactSavedSchema, {
    snapshot,
    identified: true,
    points: { oldPoints: 1, newPoints: 6 },
    channels: [{ channel: "sms", oldStatus: "contactable", newStatus: "manual" }],
    companies: [3, 4].map((companyId) => ({ companyId, added: true })),
  });
  await fanOut(scene, [saved]);
  await scene.query("delete from inbox");
  await fanOut(scene, [saved]);
  const rows = await scene.query("select event_id, body from deliveries order by id");
  assert.deepEqual(
    rows.map(({ body }) => Object.keys(JSON.parse(body ?? ""))[0]),
    [
      "svc.lead_points_change",
      "svc.lead_channel_subscription_changed",
      "svc.lead_company_change",
      "svc.lead_company_change",
      "svc.lead_post_save_update",
    ],
  );
  assert.equal(rows.at(-1)?.event_id, saved.id);
});

test("a receiver gets one delivery for each contact that came into a segment, however often the event comes", async () => {
  await using scene = await openScene();
  await scene.webhook({ url: "http://127.0.0.1:1/", triggers: ["svc.lead_list_change"] });
  const change = { segmentId: 4, name: "Friends", alias: "friends", action: "added", contactIds: [1, 2, 3] };
  const changed = event("membership_changed", SegmentMembershipChangedSchema, change, "segment");
  await fanOut(scene, [changed]);
  await fanOut(scene, [changed]);
  const rows = await scene.query("select body from deliveries order by id");
  const segment = { id: 4, name: "Friends", alias: "friends" };
  assert.deepEqual(
    rows.map(({ body }) => JSON.parse(body ?? "")["svc.lead_list_change"]),
    [1, 2, 3].map((id) => [{ contact: { id }, segment, action: "added", timestamp: ISO }]),
  );
});

test("a webhook receives no event from before it was made, whenever the event comes", async () => {
  await using scene = await openScene();
  const triggers = ["svc.lead_post_save_new"];
  const url = "http://127.0.0.1:1/";
  const before = await scene.webhook({ url, triggers, dateAdded: "2026-11-20T09:59:59Z" });
  await scene.webhook({ url, triggers, dateAdded: "2026-11-20T10:00:01Z" });
  await fanOut(scene, [event("created", ContactSavedSchema, { snapshot, identified: true })]);
  const rows = await scene.query("select webhook_id from deliveries");
  assert.deepEqual(
    rows.map((row) => Number(row.webhook_id)),
    [before],
  );
});

test("the name of a segment that the owner may not see is left out", async () => {
  await using scene = await openScene();
  const permissions = JSON.stringify({ "lead:leads": ["viewother"], "lead:lists": ["viewown"] });
  await scene.query("insert into roles (id, version, is_published, permissions) values (7, 1, true, $1)", [
    permissions,
  ]);
  await scene.query("insert into users (id, version, role_id, is_published) values (7, 1, 7, true)");
  const triggers = ["svc.lead_list_change"];
  await scene.webhook({ url: "http://127.0.0.1:1/", triggers, createdBy: 7 });
  const change = { segmentId: 4, name: "Friends", alias: "friends", action: "added", contactIds: [1] };
  for (const seen of [
    { isGlobal: false, createdBy: 1 },
    { isGlobal: true },
    { isGlobal: false, createdBy: 7 },
  ])
    await fanOut(scene, [
      event("membership_changed", SegmentMembershipChangedSchema, { ...change, ...seen }, "segment"),
    ]);
  const rows = await scene.query("select body from deliveries order by id");
  assert.deepEqual(
    rows.map(({ body }) => JSON.parse(body ?? "")["svc.lead_list_change"][0].segment.name),
    [undefined, "Friends", "Friends"],
  );
});

test("each published webhook that names the trigger gets one delivery, however often the event comes", async () => {
  await using scene = await openScene();
  const triggers = ["svc.lead_post_save_new"];
  const wanted = [
    await scene.webhook({ url: "http://127.0.0.1:1/", triggers }),
    await scene.webhook({ url: "http://127.0.0.1:2/", triggers }),
  ];
  await scene.webhook({ url: "http://127.0.0.1:3/", triggers, isPublished: false });
  await scene.webhook({ url: "http://127.0.0.1:4/", triggers: ["svc.lead_post_delete"] });
  const created = event("created", ContactSavedSchema, { snapshot, identified: true });
  await fanOut(scene, [created, created]);
  await fanOut(scene, [created]);
  const rows = await scene.query("select webhook_id from deliveries order by webhook_id");
  assert.deepEqual(
    rows.map((row) => Number(row.webhook_id)),
    wanted,
  );
});

test("a webhook receives triggers under the names that it has for them", async () => {
  await using scene = await openScene();
  const created = event("created", ContactSavedSchema, { snapshot, identified: true });
  for (const prefix of ["svc", "other", "other"])
    await scene.webhook({ url: "http://127.0.0.1:1/", triggers: [`${prefix}.lead_post_save_new`] });
  await fanOut(scene, [created]);
  const rows = await scene.query("select body from deliveries order by webhook_id");
  assert.deepEqual(
    rows.map(({ body }) => Object.keys(JSON.parse(body ?? ""))),
    [["svc.lead_post_save_new"], ["other.lead_post_save_new"], ["other.lead_post_save_new"]],
  );
});

test("a webhook receives records that its owner may view, and nothing once the owner is gone or has no right", async () => {
  await using scene = await openScene();
  const permissions = (actions: string[]) => JSON.stringify({ "lead:leads": actions });
  await scene.query(
    `insert into roles (id, version, is_published, permissions) values
       (2, 1, true, $1), (3, 1, true, $2), (4, 1, true, '{}'), (5, 1, false, $2)`,
    [permissions(["viewown"]), permissions(["viewother"])],
  );
  await scene.query(
    `insert into users (id, version, role_id, is_published) values
       (20, 1, 2, true), (30, 1, 3, true), (40, 1, 4, true), (50, 1, 5, true), (60, 1, 3, false)`,
  );
  await scene.query(
    "insert into projected_versions (kind, id, version) values ('users', 99, 2), ('roles', 5, 1)",
  );
  const triggers = ["svc.lead_post_save_new", "svc.lead_company_change"];
  const hooks = new Map<number, number>();
  for (const createdBy of [20, 30, 40, 50, 60, 99])
    hooks.set(createdBy, await scene.webhook({ url: "http://127.0.0.1:1/", triggers, createdBy }));
  const told = async (eventId: string) => {
    const rows = await scene.query("select webhook_id, body from deliveries where event_id = $1", [eventId]);
    return new Map(
      [...hooks].flatMap(([createdBy, id]) => {
        const row = rows.find(({ webhook_id }) => Number(webhook_id) === id);
        return row ? [[createdBy, row.body ?? ""] as const] : [];
      }),
    );
  };
  const ofUser =
    (ownerId: number): Records["contacts"] =>
    async (sources) =>
      sources.map(() => rendered({ id: 7 }, ownerId));
  const theirs = event("created", ContactSavedSchema, { snapshot, identified: true });
  const foreign = event("created", ContactSavedSchema, { snapshot, identified: true });
  const company = event("updated", ContactSavedSchema, {
    snapshot,
    companies: [{ companyId: 3, added: true }],
  });
  await fanOut(scene, [theirs, company], { contacts: ofUser(20) });
  await fanOut(scene, [foreign], { contacts: ofUser(21) });
  assert.deepEqual([...(await told(theirs.id)).keys()], [20, 30]);
  assert.deepEqual([...(await told(foreign.id)).keys()], [30]);
  const companies = await told(occurrencesOf(company)[0]?.id ?? "");
  assert.equal(JSON.parse(companies.get(30) ?? "")["svc.lead_company_change"][0].company.fields, undefined);
  assert.deepEqual(JSON.parse(companies.get(20) ?? "")["svc.lead_company_change"][0].company, {
    id: 3,
    fields: { core: { companyname: { value: null } } },
  });
  assert.equal((await claim(scene)).length, 5);
  await scene.query("update deliveries set next_at = now()");
  await scene.query("update users set is_published = false where id = 30");
  assert.deepEqual(new Set((await claim(scene)).map(({ group }) => group)), new Set([hooks.get(20)]));
});

test("events wait while the owner of a webhook that wants them, or the owner's role, is on its way", async () => {
  await using scene = await openScene();
  const triggers = ["svc.lead_post_save_new"];
  await scene.webhook({ url: "http://127.0.0.1:1/", triggers, createdBy: 7 });
  const created = [event("created", ContactSavedSchema, { snapshot, identified: true })];
  const deleted = [event("deleted", ContactSavedSchema, { snapshot, identified: true })];
  const waits = () => assert.rejects(fanOut(scene, created), (error) => isOutage(error));
  await waits();
  await fanOut(scene, deleted);
  // A user with an id above those of the replica's build was made later.
  await scene.query("insert into projection_builds (name, after_id, done_at) values ('users', 6, now())");
  await waits();
  await scene.query("insert into users (id, version, role_id, is_published) values (7, 1, 8, true)");
  await waits();
  await scene.query("insert into roles (id, version, is_admin, is_published) values (8, 1, true, true)");
  await fanOut(scene, created);
  assert.equal((await scene.states()).length, 1);
});

test("events do not wait for an owner who was deleted before owners were replicated", async () => {
  await using scene = await openScene();
  const triggers = ["svc.lead_post_save_new"];
  await scene.webhook({ url: "http://127.0.0.1:1/", triggers, createdBy: 7 });
  await scene.query("insert into projection_builds (name, after_id, done_at) values ('users', 7, now())");
  await fanOut(scene, [event("created", ContactSavedSchema, { snapshot, identified: true })]);
  assert.deepEqual(await scene.states(), []);
});

test("one event for thousands of webhooks, and thousands of events for one, are done in slices", async () => {
  await using scene = await openScene();
  await scene.query(
    `insert into webhooks (is_published, date_added, name, webhook_url, secret, triggers, created_by)
     select true, '2020-01-01', 'test', 'http://127.0.0.1:1/', 'secret', '["svc.lead_list_change"]', 1
     from generate_series(1, 6000)`,
  );
  const contactIds = [1, 2, 3];
  const change = { segmentId: 4, name: "Friends", alias: "friends", action: "added", contactIds };
  await fanOut(scene, [event("membership_changed", SegmentMembershipChangedSchema, change, "segment")]);
  const [row] = await scene.query(
    "select count(*) as total, count(distinct (webhook_id, event_id)) as pairs from deliveries",
  );
  assert.deepEqual(row, { total: "18000", pairs: "18000" });
});

test("without a webhook that wants them, events are not remembered and no contact is rendered", async () => {
  await using scene = await openScene();
  const events = [event("created", ContactSavedSchema, { snapshot, identified: true })];
  assert.equal(await fanOut(scene, events), 0);
  assert.equal((await scene.query("select 1 from inbox where consumer = 'webhook'")).length, 0);
});

test("a batch costs one rendering and keeps its order", async () => {
  await using scene = await openScene();
  await scene.webhook({ url: "http://127.0.0.1:1/", triggers: ["svc.lead_post_save_new"] });
  const events = Array.from({ length: 100 }, () =>
    event("created", ContactSavedSchema, { snapshot, identified: true }),
  );
  assert.equal(await fanOut(scene, events), 1);
  const rows = await scene.query("select event_id from deliveries order by id");
  assert.deepEqual(
    rows.map((row) => row.event_id),
    events.map(({ id }) => id),
  );
});

test("when contacts cannot be rendered nothing is recorded", async () => {
  await using scene = await openScene();
  await scene.webhook({ url: "http://127.0.0.1:1/", triggers: ["svc.lead_post_save_new"] });
  const events = [event("created", ContactSavedSchema, { snapshot, identified: true })];
  await assert.rejects(fanOut(scene, events, { contacts: () => Promise.reject(new Error("away")) }), /away/);
  assert.deepEqual(await scene.query("select 1 from inbox"), []);
  await fanOut(scene, events);
  assert.equal((await scene.states()).length, 1);
});

/** Handles the events and answers how often contacts were rendered. */
