import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import { NotificationSendsSchema } from "@tidings/proto/tidings/content/v1/events";
import { SendMethodService } from "@tidings/proto/tidings/content/v1/send";
import { generateActorKeyRing } from "@tidings/scripts/actor-keys";
import { eventually } from "@tidings/testkit/eventually";
import { type Answer, startReceiver } from "@tidings/testkit/receiver";
import { channelSends } from "./channel-sends.ts";
import { callContent } from "./content-calls.ts";
import { newPerson } from "./people.ts";
import { publishedOn } from "./published.ts";
import { startVisitedStack } from "./visited-stack.ts";
import { visitor } from "./visitor.ts";

/** Notifications to browsers and apps: who takes them, how they leave, and that they were read. */

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it knows to be there
type Any = any;

/** The answers of the provider by the id of a browser or app; 200 for all others. */
const answers = new Map<string, Answer>();
const bodyOf = ({ body }: { body: string }): Any => JSON.parse(body);
const provider = await startReceiver({
  respond: (request) => answers.get(bodyOf(request).include_subscription_ids[0]) ?? { body: '{"id":"n-1"}' },
});
after(provider.stop);
const TEMPLATE = {
  ...{ app_id: "shop", include_subscription_ids: ["{to}"], headings: { en: "{heading}" } },
  ...{ contents: { en: "{text}" }, url: "{url}", data: { hash: "{hash}", button: "{button}" } },
};
const actorKeyRing = generateActorKeyRing();
const stack = await startVisitedStack({
  hasOwnHost: true,
  actorKeyRing,
  env: {
    content: {
      PUSH_URL: `json+http://k3y@127.0.0.1:${provider.port}/notifications?scheme=Key&body=${encodeURIComponent(JSON.stringify(TEMPLATE))}`,
      OUTBOUND_ALLOW_CIDRS: "127.0.0.1/32",
    },
  },
});
after(() => stack.stop());
beforeEach(() => answers.clear());
const { api, baseUrl, publicUrl, made } = stack;
const host = new URL(publicUrl).host;
const content = await callContent(stack, SendMethodService, actorKeyRing);

type Browser = ReturnType<typeof visitor>;
const post = async (browser: Browser, path: string, members: Record<string, string>) => {
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  const body = new URLSearchParams(members).toString();
  return browser.ask(path, { method: "POST", headers, body });
};

let count = 0;
/** A visitor with a contact and a device of its own, which has registered an id. */
async function subscriber({ isMobile = false } = {}) {
  const browser = visitor(baseUrl, { host });
  const { json } = await browser.hit({ page_url: "https://shop.example/" });
  const [id, deviceId] = [Number(json.id), String(json.device_id)];
  const pushId = `push-id-${++count}`;
  const register = (members: Record<string, string> = {}, mobile = isMobile) =>
    post(browser, mobile ? "/notification/appcallback" : "/notification/subscribe", {
      ...{ svc_device_id: deviceId, push_id: pushId },
      ...members,
    });
  assert.deepEqual((await register()).json, { success: 1 });
  await eventually(async () => assert.equal((await api("GET", `contacts/${id}`)).status, 200));
  return { id, deviceId, pushId, browser, register };
}

async function notification(members: object = {}): Promise<number> {
  const { notification: one } = await made("notifications/new", {
    ...{ name: "News", heading: "For {contactfield=firstname|you}", message: "Hello", isPublished: true },
    ...members,
  });
  return one.id;
}
const notificationOf = async (id: number) =>
  ((await api("GET", `notifications/${id}`)).body as Any).notification;
const sentTo = (pushId: string) =>
  provider.requests.filter((request) => bodyOf(request).include_subscription_ids.includes(pushId));

const { ask, becomes, listed } = channelSends(stack, content, "notification");
const factsOf = async (verb: string, notificationId: number) =>
  (await publishedOn(stack, `tidings.content.notification.${verb}`, NotificationSendsSchema))
    .flatMap(({ sends }) => sends)
    .filter((send) => send.notificationId === notificationId);

test("a notification goes to the browsers of its contact once, and a click in it is known, counted and published", async () => {
  const notificationId = await notification({
    ...{ url: "https://shop.example/new?a=1", button: "Look", utmTags: { utmSource: "push" } },
  });
  const { id, pushId, register, browser } = await subscriber();
  assert.deepEqual((await register({ push_id: `${pushId}-b` })).json, { success: 1 });
  const outcomes = await Promise.all([ask(notificationId, [id]), ask(notificationId, [id])]);
  assert.deepEqual(outcomes.map(([outcome]) => outcome?.isNew).toSorted(), [false, true]);
  const send = await becomes(notificationId, id, "sent");
  const [request, ...more] = sentTo(pushId);
  assert.deepEqual(more, []);
  assert.equal(request?.headers.authorization, "Key k3y");
  const { url, include_subscription_ids: ids, ...said } = request ? bodyOf(request) : {};
  assert.deepEqual(ids.toSorted(), [pushId, `${pushId}-b`]);
  assert.deepEqual(said, {
    ...{ app_id: "shop", headings: { en: "For you" }, contents: { en: "Hello" } },
    data: { hash: send.hash, button: "Look" },
  });
  assert.deepEqual(
    [send.heading, send.text, send.url, send.button, send.isMobile, send.providerId, send.dateRead],
    ["For you", "Hello", "https://shop.example/new?a=1", "Look", false, "n-1", null],
  );
  const followed = await browser.ask(url.slice(new URL(publicUrl).origin.length));
  assert.equal(followed.headers.location, "https://shop.example/new?a=1&utm_source=push");
  assert.equal((await notificationOf(notificationId)).sentCount, 1);
  assert.equal((await notificationOf(notificationId)).readCount, 1);
  await browser.ask(url.slice(new URL(publicUrl).origin.length));
  const machine = visitor(baseUrl, { host, agent: "Googlebot/2.1" });
  await machine.ask(url.slice(new URL(publicUrl).origin.length));
  assert.equal((await notificationOf(notificationId)).readCount, 1);
  const [{ clickCount, dateRead }] = await listed(`notificationId=${notificationId}`);
  assert.deepEqual([clickCount, Date.parse(dateRead) > 0], [2, true]);
  const [fact, ...others] = await factsOf("sent", notificationId);
  assert.deepEqual([others.length, fact?.id, fact?.contactId, fact?.heading], [0, send.hash, id, "For you"]);
  const reads = await factsOf("read", notificationId);
  assert.deepEqual(
    reads.map((read) => [read.id, read.clickCount, read.isClicked, read.version - (fact?.version ?? 0)]),
    [
      [send.hash, 1, true, 1],
      [send.hash, 2, true, 2],
    ],
  );
  const last = reads.at(-1);
  const details = JSON.parse(Buffer.from(last?.clickDetails ?? []).toString()) as { ip: string }[];
  assert.deepEqual([details.length, last?.ip], [2, details[0]?.ip]);
  assert.notEqual(last?.ip, "");
});

test("notifications for apps go to apps, others to browsers, and a contact without either gets none", async () => {
  const [web, app] = [await notification(), await notification({ mobile: true })];
  const [reader, phone] = [await subscriber(), await subscriber({ isMobile: true })];
  for (const [itemId, one, other] of [
    [web, reader, phone],
    [app, phone, reader],
  ] as const) {
    const outcomes = await ask(itemId, [one.id, other.id]);
    assert.deepEqual(
      outcomes.map(({ state, reason }) => [state, reason]),
      [
        ["waiting", ""],
        ["refused", "not_written"],
      ],
    );
    await becomes(itemId, one.id, "sent");
    const [request] = sentTo(one.pushId);
    assert.equal("url" in (request ? bodyOf(request) : {}), false);
  }
  assert.deepEqual([sentTo(reader.pushId).length, sentTo(phone.pushId).length], [1, 1]);
});

test("an app says that a notification was seen, which counts once and proves that it went out", async () => {
  const notificationId = await notification({ mobile: true });
  const { id, pushId, browser } = await subscriber({ isMobile: true });
  answers.set(pushId, { drop: true });
  await ask(notificationId, [id]);
  const { hash } = await becomes(notificationId, id, "unknown");
  assert.equal((await notificationOf(notificationId)).sentCount, 0);
  await Promise.all(
    [1, 2, 3].map(async () =>
      assert.deepEqual((await post(browser, "/notification/receive", { hash })).json, { success: 1 }),
    ),
  );
  const { state, dateSent, startedAt } = await becomes(notificationId, id, "sent");
  assert.deepEqual([state, dateSent], ["sent", startedAt]);
  const { sentCount, readCount } = await notificationOf(notificationId);
  assert.deepEqual([sentCount, readCount], [1, 1]);
  assert.deepEqual([(await factsOf("sent", notificationId)).length, sentTo(pushId).length], [1, 1]);
  assert.notEqual((await factsOf("read", notificationId))[0]?.ip, "");
});

test("a contact who said no to notifications gets none, neither in browsers nor in apps, and none after an end of the subscription", async () => {
  const [web, app] = [await notification(), await notification({ mobile: true })];
  const { id, pushId, register } = await subscriber();
  await register({ push_id: `${pushId}-app` }, true);
  await made(`contacts/${id}/dnc/notification/add`, { reason: 3 });
  for (const itemId of [web, app]) assert.equal((await ask(itemId, [id]))[0]?.reason, "manual");
  const ended = await subscriber();
  assert.deepEqual((await ended.register({ enabled: "false" })).json, { success: 1 });
  assert.equal((await ask(web, [ended.id]))[0]?.reason, "not_written");
  const subscribed = async () => {
    const found = await stack.query(`select contact_id from contact.push_ids where contact_id = ${ended.id}`);
    return found.length;
  };
  await eventually(async () => assert.equal(await subscribed(), 0));
  await ended.register();
  await eventually(async () => assert.equal(await subscribed(), 1));
  assert.equal((await ask(web, [ended.id]))[0]?.state, "waiting");
});

test("an id belongs to the contact that registered it last, and of many ids of a contact the latest 20 are kept", async () => {
  const [one, other] = [await subscriber(), await subscriber()];
  await other.register({ push_id: one.pushId });
  const notificationId = await notification();
  const outcomes = await ask(notificationId, [one.id, other.id]);
  assert.deepEqual(
    outcomes.map(({ state }) => state),
    ["refused", "waiting"],
  );
  // The end of a subscription is that of its own contact alone.
  await one.register({ enabled: "0" });
  await becomes(notificationId, other.id, "sent");
  assert.equal(sentTo(one.pushId).length, 1);
  for (let index = 0; index < 25; index += 1) await one.register({ push_id: `many-ids-${index}` });
  const rows = await stack.query(`select push_id from content.push_ids where contact_id = ${one.id}`);
  assert.equal(rows.length, 20);
  assert.ok(rows.some(({ push_id }) => push_id === "many-ids-24"));
  await eventually(async () => {
    const kept = await stack.query(`select push_id from contact.push_ids where contact_id = ${one.id}`);
    assert.deepEqual(
      new Set(kept.map(({ push_id }) => push_id)),
      new Set(rows.map(({ push_id }) => push_id)),
    );
  });
});

test("an id is registered by a parameter that names a device with a proven contact, and hostile input changes nothing", async () => {
  const { deviceId, browser } = await subscriber();
  const before = await stack.query("select count(*) from content.push_ids");
  const asked: [string, Record<string, string>][] = [
    // Another site can have the browser send its cookie, and cannot name the device.
    ["/notification/subscribe", { push_id: "from-elsewhere" }],
    ["/notification/subscribe", { push_id: "from-elsewhere", svc_device_id: "x".repeat(23) }],
    ["/notification/subscribe", { svc_device_id: deviceId }],
    ...[
      "",
      "short",
      "x".repeat(192),
      "a b c d e f",
      "'); drop table x; --",
      "\0\0\0\0\0\0\0\0\0",
      "<script>alert(1)",
    ].map((push_id): [string, Record<string, string>] => [
      "/notification/appcallback",
      { push_id, svc_device_id: deviceId },
    ]),
    ...["", "x", "0", "0190b7a0-0000-7000-8000-00000000000g", "' or 1=1"].map(
      (hash): [string, Record<string, string>] => ["/notification/receive", { hash }],
    ),
  ];
  for (const [path, members] of asked) {
    const { status, json } = await post(browser, path, members);
    assert.deepEqual([status, json], [200, { success: 0 }], `${path} ${JSON.stringify(members)}`);
  }
  for (const [path, status] of [
    ["/notification", 404],
    ["/notification/", 404],
    ["/notification/unknown", 404],
    ["/notification/subscribe?push_id[]=1&svc_device_id[a]=b", 200],
  ] as const)
    assert.equal((await browser.ask(path)).status, status, path);
  const json = { "content-type": "application/json" };
  for (const body of ["{", "[]", "null", '{"push_id":{"a":1}}', `{"push_id":"${"x".repeat(60_000)}"}`]) {
    const answer = await browser.ask("/notification/appcallback", { method: "POST", headers: json, body });
    assert.deepEqual([answer.status, answer.json], [200, { success: 0 }], body.slice(0, 30));
  }
  assert.deepEqual(await stack.query("select count(*) from content.push_ids"), before);
});

test("ids and sends of a contact go with it when it is deleted", async () => {
  const { id, pushId } = await subscriber();
  const notificationId = await notification();
  await ask(notificationId, [id]);
  await becomes(notificationId, id, "sent");
  assert.equal((await api("DELETE", `contacts/${id}/delete`)).status, 200);
  await eventually(
    async () => {
      const rows = await stack.query(
        `select contact_id from content.push_ids where push_id = '${pushId}'
         union all select contact_id from content.notification_sends where notification_id = ${notificationId}`,
      );
      assert.deepEqual(rows, []);
    },
    { timeoutMs: 60_000 },
  );
});

test("a marketing message goes to the app where its email has no transport, by the channel that it names", async () => {
  const { id, pushId } = await subscriber({ isMobile: true });
  const { email } = await made("emails/new", {
    name: "A",
    subject: "A",
    customHtml: "<p>A</p>",
    isPublished: true,
  });
  const channels = [
    { channel: "email", channelId: email.id, isEnabled: true },
    { channel: "notification", channelId: await notification(), isEnabled: true },
    { channel: "mobile_notification", channelId: await notification({ mobile: true }), isEnabled: true },
  ];
  const { message } = await made("messages/new", { name: "Offer", isPublished: true, channels });
  const { body } = await api("POST", `messages/${message.id}/contact/${id}/send`, {});
  const failed = {
    email: "no_transport",
    notification: "The contact has no browser that takes notifications.",
  };
  assert.deepEqual(body, { success: 1, status: "sent", channel: "mobile_notification", failed });
  assert.equal(sentTo(pushId).length, 1);
});

test("sends of notifications need the rights of the notification, and an unknown one is decided once", async () => {
  const notificationId = await notification();
  const { id, pushId } = await subscriber();
  answers.set(pushId, { drop: true });
  await ask(notificationId, [id]);
  const { id: sendId } = await becomes(notificationId, id, "unknown");
  assert.match(sendId, /^notification-\d+$/);
  const contacts = { "lead:leads": ["full"] };
  const mailer = (await newPerson(stack, { "email:emails": ["full"], ...contacts })).api;
  assert.equal((await mailer("GET", `sends?channel=notification&contactId=${id}`)).status, 403);
  const reader = (
    await newPerson(stack, { "notification:notifications": ["viewown", "viewother"], ...contacts })
  ).api;
  assert.equal((await listed(`contactId=${id}`, reader))[0]?.id, sendId);
  assert.equal((await reader("POST", `sends/${sendId}/resolve`, { as: "sent" })).status, 403);
  const resolved = await Promise.all(
    [1, 2].map(() => api("POST", `sends/${sendId}/resolve`, { as: "failed" })),
  );
  assert.deepEqual(resolved.map(({ status }) => status).toSorted(), [200, 409]);
  assert.equal((await notificationOf(notificationId)).sentCount, 0);
  assert.equal((await factsOf("failed", notificationId)).length, 1);
});
