import assert from "node:assert/strict";
import { after, type TestContext, test } from "node:test";
import { startReceiver } from "@tidings/testkit/receiver";
import { MAIL_FIELD } from "./form-fields.ts";
import { query } from "./query.ts";
import { startVisitedStack } from "./visited-stack.ts";
import { visitor } from "./visitor.ts";

/** Hits and form submissions of visitors, from the public web to the receiver of a webhook. */

const stack = await startVisitedStack({ hasOwnHost: true });
after(() => stack.stop());
const { api, baseUrl, database, publicUrl, made } = stack;
const { host } = new URL(publicUrl);

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it knows to be there
type Any = any;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00$/;
const ADDRESS = { "x-forwarded-for": "93.184.216.34" };
const browse = (options: { agent?: string } = {}) => visitor(baseUrl, { host, ...options });

/** A receiver of the trigger, and the items that it has once there are so many. */
async function listen(t: TestContext, trigger: string) {
  const receiver = await startReceiver();
  t.after(receiver.stop);
  const { hook } = await made("hooks/new", { name: trigger, webhookUrl: receiver.url, triggers: [trigger] });
  return {
    hook,
    async items(count: number): Promise<Any[]> {
      const requests = await receiver.waitFor(count);
      return requests.map(({ body }) => {
        const payload = JSON.parse(body);
        assert.deepEqual(Object.keys(payload), [trigger]);
        const [item] = payload[trigger];
        assert.deepEqual(payload[trigger], [item]);
        assert.match(item.timestamp, TIME);
        return item;
      });
    },
  };
}

test("each hit of a person arrives once, with its page and its contact; machines and unknown people notify nobody", async (t) => {
  const { category } = await made("categories/new", { title: "Spring", bundle: "page" });
  const { page } = await made("pages/new", {
    ...{ title: "Offer", alias: "offer", isPublished: true, customHtml: "<p>Text</p>" },
    category: category.id,
  });
  const { hook, items } = await listen(t, "svc.page_on_hit");
  const browser = browse();
  assert.equal((await browser.ask("/offer?a=1", { headers: ADDRESS })).status, 200);
  await browse({ agent: "Googlebot/2.1 (+http://www.google.com/bot.html)" }).ask("/offer");
  await browse().ask("/offer", { headers: { dnt: "1" } });
  const url = "https://shop.example/basket";
  const { json } = await browser.hit({ page_url: url, page_title: "Basket" }, ADDRESS);
  const received = await items(2);

  const [offer, basket] = received.map(({ hit }) => hit).sort((one, other) => (one.id < other.id ? -1 : 1));
  const stored = await query<{ id: string }>(
    database,
    `select id from content.page_hits where contact_id = ${json.id} order by id`,
  );
  assert.deepEqual(
    [offer.id, basket.id],
    stored.map(({ id }) => id),
  );
  assert.match(offer.dateHit, TIME);
  assert.equal(offer.dateLeft, null);
  assert.deepEqual(
    { ...offer.page, category: offer.page.category.id },
    { id: page.id, title: "Offer", alias: "offer", category: category.id },
  );
  assert.deepEqual(offer.page.category, page.category);
  assert.deepEqual([offer.query, offer.code, offer.ipAddress], [{ a: "1" }, 200, { ip: "93.184.216.34" }]);
  assert.match(offer.trackingId, /^[a-z0-9]{23}$/);
  assert.deepEqual(Object.keys(offer.lead), ["id", "points", "color", "fields"]);
  assert.deepEqual(Object.keys(offer.lead.fields), ["core", "social", "personal", "professional"]);
  assert.equal(offer.lead.id, json.id);
  assert.deepEqual([basket.url, basket.urlTitle, basket.page], [url, "Basket", null]);
  assert.deepEqual(Object.keys(basket), Object.keys(offer));

  // Events of one stream are handled in order: whatever was sent twice has arrived before this hit.
  await browser.hit({ page_url: "https://shop.example/last" }, ADDRESS);
  await items(3);
  const deliveries = await query(
    database,
    `select count(*)::int as made, count(distinct event_id)::int as events
     from webhook.deliveries where webhook_id = ${hook.id}`,
  );
  assert.deepEqual(deliveries, [{ made: 3, events: 3 }]);
});

test("a submission arrives once, with its form, its results and its contact as the actions left them; without a contact its lead is null", async (t) => {
  const { category } = await made("categories/new", { title: "Letters", bundle: "form" });
  const { form } = await made("forms/new", {
    ...{ name: "Sign up", alias: "signup", isPublished: true, category: category.id },
    ...{ postAction: "message", postActionProperty: "Thanks" },
    fields: [
      MAIL_FIELD,
      { label: "Note", alias: "note", type: "text" },
      { label: "Send", alias: "send", type: "button" },
    ],
    actions: [
      { name: "Five", type: "lead.pointschange", properties: { operator: "plus", points: 5 } },
      { name: "Two", type: "lead.pointschange", properties: { operator: "plus", points: 2 } },
    ],
  });
  const { items } = await listen(t, "svc.form_on_submit");
  const send = async (members: Record<string, string>, headers: Record<string, string> = {}) => {
    const answer = await browse().ask(`/form/submit/ajax?formId=${form.id}`, {
      method: "POST",
      headers: { "content-type": "application/x-www-form-urlencoded", ...ADDRESS, ...headers },
      body: new URLSearchParams(members).toString(),
    });
    assert.equal(answer.json.success, 1, answer.text);
  };
  const submissionKey = crypto.randomUUID();
  const body = { "svcform[mail]": "ada@hooked.example", "svcform[submissionKey]": submissionKey };
  await send(body);
  await send(body);
  const [{ submission }] = await items(1);

  const [listed] = ((await api("GET", `forms/${form.id}/submissions`)).body as Any).submissions;
  const { lead, ...members } = submission;
  // Spam is not published, so that receivers need no word for it.
  const { lead: submitter, isSpam, spamReason, ...shown } = listed;
  assert.deepEqual([isSpam, spamReason], [false, null]);
  assert.deepEqual(members, shown);
  assert.deepEqual([lead.id, lead.points], [submitter.id, 7]);
  assert.deepEqual(Object.keys(lead), ["id", "points", "color", "fields"]);
  assert.equal(lead.fields.core.email.value, "ada@hooked.example");
  assert.equal(submission.form.category.id, category.id);
  assert.deepEqual(submission.results, { mail: "ada@hooked.example", note: "" });

  await send({ "svcform[note]": "Hello" }, { dnt: "1" });
  const all = await items(2);
  assert.deepEqual(
    all.map((item) => [item.submission.lead?.id, item.submission.results.note]),
    [
      [lead.id, ""],
      [undefined, "Hello"],
    ],
  );
  assert.equal(all[1].submission.lead, null);
});
