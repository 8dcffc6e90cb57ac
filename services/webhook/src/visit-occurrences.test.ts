import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { ContactSavedSchema } from "@tidings/proto/tidings/contact/v1/events";
import {
  FormSubmittedSchema,
  type PageHitSchema,
  PageHitsSchema,
} from "@tidings/proto/tidings/content/v1/events";
import { jsonBytes } from "@tidings/resource/json-member";
import type { Records } from "./records.ts";
import { event, fanOut, rendered } from "./testing/events.ts";
import { openScene, type Scene } from "./testing/scene.ts";

const ISO = "2026-11-20T10:00:00+00:00";
const HIT = "svc.page_on_hit";
const SUBMISSION = "svc.form_on_submit";
const at = timestampFromDate(new Date("2026-01-02T03:04:05.678Z"));

type Hit = MessageInitShape<typeof PageHitSchema>;
const hitsOf = (...hits: Hit[]) =>
  event(
    "hit",
    PageHitsSchema,
    { hits: hits.map((hit) => ({ id: randomUUID(), version: 1, contactId: 7, verdict: "human", ...hit })) },
    "page",
  );
const submissionOf = (members: MessageInitShape<typeof FormSubmittedSchema> = {}) =>
  event(
    "submitted",
    FormSubmittedSchema,
    {
      submissionId: randomUUID(),
      contactId: 7,
      formId: 4,
      formName: "Sign up",
      formAlias: "signup",
      ...members,
    },
    "form",
  );

const hook = (scene: Scene, triggers: string[], createdBy?: number) =>
  scene.webhook({ url: "http://127.0.0.1:1/", triggers, ...(createdBy && { createdBy }) });

/** The items that webhooks get, in the order of their deliveries. */
async function items(scene: Scene) {
  const rows = await scene.query("select webhook_id, event_id, body from deliveries order by id");
  return rows.map(({ webhook_id, event_id, body }) => {
    const [[trigger, [item]]] = Object.entries(JSON.parse(body ?? "")) as [[string, [Item]]];
    return { webhookId: Number(webhook_id), id: event_id, trigger, item };
  });
}

interface Item {
  hit?: Record<string, unknown>;
  submission?: Record<string, unknown>;
}

/** A user whose role has these permissions. */
async function user(scene: Scene, id: number, permissions: object): Promise<number> {
  await scene.query("insert into roles (id, version, is_published, permissions) values ($1, 1, true, $2)", [
    id,
    JSON.stringify(permissions),
  ]);
  await scene.query("insert into users (id, version, role_id, is_published) values ($1, 1, $1, true)", [id]);
  return id;
}

const leadsOf =
  (ownerId: number): Records["leads"] =>
  async (sources) =>
    sources.map(({ contactId }) => (contactId === 0 ? rendered(null) : rendered({ id: contactId }, ownerId)));

test("a submission of a form is sent with its form, its results and its contact", async () => {
  await using scene = await openScene();
  await hook(scene, [SUBMISSION]);
  const category = { id: 2, title: "News", alias: "news" };
  const submitted = submissionOf({
    ...{
      dateSubmitted: at,
      ip: "192.0.2.1",
      trackingId: "device",
      referer: "https://shop.example/",
      pageId: 3,
    },
    formCategory: jsonBytes(category),
    results: jsonBytes({ mail: "ada@example.com", first: null }),
    files: jsonBytes({ cv: { name: "cv.pdf", size: 3, url: null } }),
  });
  await fanOut(scene, [submitted]);
  const submission = {
    ...{ id: 7, ipAddress: { ip: "192.0.2.1" } },
    form: { id: 4, name: "Sign up", alias: "signup", category },
    ...{ trackingId: "device", dateSubmitted: "2026-01-02T03:04:05+00:00", referer: "https://shop.example/" },
    ...{ page: "3", results: { mail: "ada@example.com", first: null } },
    files: { cv: { name: "cv.pdf", size: 3, url: null } },
    lead: { id: 7, points: 5 },
  };
  assert.deepEqual(
    (await items(scene)).map(({ id, trigger, item }) => ({ id, trigger, item })),
    [{ id: submitted.id, trigger: SUBMISSION, item: { submission, timestamp: ISO } }],
  );
});

test("a hit is sent with all its members, and with null for what is not known", async () => {
  await using scene = await openScene();
  await hook(scene, [HIT]);
  const [full, bare] = [randomUUID(), randomUUID()];
  const category = { id: 2, title: "News", alias: "news" };
  await fanOut(scene, [
    hitsOf(
      {
        ...{ id: full, dateHit: at, dateLeft: at, url: "https://shop.example/?a=1", urlTitle: "Shop" },
        ...{
          referer: "https://other.example/",
          source: "email",
          sourceId: 5,
          pageId: 3,
          redirectId: 6,
          emailId: 5,
        },
        ...{
          ip: "192.0.2.1",
          country: "Austria",
          region: "Vienna",
          city: "Vienna",
          isp: "A1",
          organization: "A",
        },
        ...{
          code: 200,
          userAgent: "Browser",
          remoteHost: "host",
          pageLanguage: "en",
          browserLanguages: ["de"],
        },
        ...{ deviceId: "device", query: jsonBytes({ a: "1" }) },
        ...{ pageTitle: "Landing", pageAlias: "landing", pageCategory: jsonBytes(category) },
      },
      { id: bare, dateHit: at, code: 302 },
    ),
  ]);
  const [first, second] = await items(scene);
  assert.deepEqual([first?.id, second?.id], [full, bare]);
  assert.deepEqual(first?.item, {
    hit: {
      ...{ id: full, dateHit: "2026-01-02T03:04:05+00:00", dateLeft: "2026-01-02T03:04:05+00:00" },
      page: { id: 3, title: "Landing", alias: "landing", category },
      ...{ redirect: { id: 6 }, email: { id: 5 }, ipAddress: { ip: "192.0.2.1" } },
      ...{ country: "Austria", region: "Vienna", city: "Vienna", isp: "A1", organization: "A", code: 200 },
      ...{ referer: "https://other.example/", url: "https://shop.example/?a=1", urlTitle: "Shop" },
      ...{ userAgent: "Browser", remoteHost: "host", pageLanguage: "en", browserLanguages: ["de"] },
      ...{ trackingId: "device", source: "email", sourceId: 5, query: { a: "1" }, device: null },
      lead: { id: 7, points: 5 },
    },
    timestamp: ISO,
  });
  const members = Object.keys(first?.item.hit ?? {});
  assert.deepEqual(Object.keys(second?.item.hit ?? {}), members);
  const empty = members.filter((name) => second?.item.hit?.[name] === null);
  assert.deepEqual(
    members.filter((name) => !empty.includes(name)),
    ["id", "dateHit", "code", "browserLanguages", "query", "lead"],
  );
});

test("each first version of a person's hit makes one delivery under its own id, however often events carry it", async () => {
  await using scene = await openScene();
  await hook(scene, [HIT]);
  const ids = [randomUUID(), randomUUID(), randomUUID()];
  const hits = [
    ...ids.map((id) => ({ id })),
    { version: 2 },
    { verdict: "machine", contactId: 0 },
    { verdict: "machine" },
    { contactId: 0 },
  ];
  const hit = hitsOf(...hits);
  await fanOut(scene, [hit, hit]);
  await fanOut(scene, [hit]);
  await scene.query("delete from inbox");
  await fanOut(scene, [hit, hitsOf({ id: ids[0] as string })]);
  assert.deepEqual(
    (await items(scene)).map(({ id }) => id),
    ids,
  );
});

test("a submission makes one delivery, however often its event comes", async () => {
  await using scene = await openScene();
  await hook(scene, [SUBMISSION]);
  const submitted = submissionOf();
  await fanOut(scene, [submitted, submitted]);
  await scene.query("delete from inbox");
  await fanOut(scene, [submitted]);
  assert.deepEqual(
    (await items(scene)).map(({ id }) => id),
    [submitted.id],
  );
});

test("hits and submissions reach only owners who may view their contact", async () => {
  await using scene = await openScene();
  const forms = { "form:forms": ["full"] };
  const own = await user(scene, 20, { "lead:leads": ["viewown"], ...forms });
  const all = await user(scene, 30, { "lead:leads": ["viewother"], ...forms });
  const none = await user(scene, 40, forms);
  const hooks = new Map<number, number>();
  for (const id of [own, all, none]) hooks.set(await hook(scene, [HIT, SUBMISSION], id), id);
  const reached = async (leads: Records["leads"], contactId = 7) => {
    await scene.query("delete from deliveries");
    await fanOut(scene, [hitsOf({ contactId }), submissionOf({ contactId })], { leads });
    return (await items(scene)).map(({ webhookId, trigger }) => `${hooks.get(webhookId)} ${trigger}`);
  };
  assert.deepEqual((await reached(leadsOf(own))).sort(), [
    `${own} ${SUBMISSION}`,
    `${own} ${HIT}`,
    `${all} ${SUBMISSION}`,
    `${all} ${HIT}`,
  ]);
  assert.deepEqual((await reached(leadsOf(21))).sort(), [`${all} ${SUBMISSION}`, `${all} ${HIT}`]);
  assert.deepEqual(await reached(leadsOf(0), 0), [`${all} ${SUBMISSION}`]);
  assert.equal((await items(scene))[0]?.item.submission?.lead, null);
});

test("a submission reaches only owners who may view its form", async () => {
  await using scene = await openScene();
  const contacts = { "lead:leads": ["full"] };
  const own = await user(scene, 20, { ...contacts, "form:forms": ["viewown"] });
  const all = await user(scene, 30, { ...contacts, "form:forms": ["viewother"] });
  const none = await user(scene, 40, contacts);
  const hooks = new Map<number, number>();
  for (const id of [own, all, none]) hooks.set(await hook(scene, [SUBMISSION], id), id);
  const reached = async (formCreatedBy: number | undefined) => {
    await scene.query("delete from deliveries");
    await fanOut(scene, [submissionOf(formCreatedBy === undefined ? {} : { formCreatedBy })]);
    return (await items(scene)).map(({ webhookId }) => hooks.get(webhookId));
  };
  assert.deepEqual(await reached(own), [own, all]);
  assert.deepEqual(await reached(21), [all]);
  assert.deepEqual(await reached(undefined), [all]);
});

test("a hit of an erased contact makes no delivery", async () => {
  await using scene = await openScene();
  await hook(scene, [HIT, SUBMISSION]);
  await fanOut(scene, [hitsOf({}), submissionOf()], {
    leads: async (sources) => sources.map(() => undefined),
  });
  assert.deepEqual(await items(scene), []);
});

test("no contact is rendered for hits and submissions whose trigger no webhook names", async () => {
  await using scene = await openScene();
  await hook(scene, ["svc.lead_post_save_new"]);
  const unreadable = { ...hitsOf({}), payload: Buffer.from("no message") };
  assert.equal(await fanOut(scene, [unreadable, submissionOf()]), 0);
  const created = event("created", ContactSavedSchema, { snapshot: { id: 7 }, identified: true });
  assert.equal(await fanOut(scene, [hitsOf({}), created]), 1);
});
