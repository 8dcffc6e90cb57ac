import assert from "node:assert/strict";
import { after, test } from "node:test";
import { eventually } from "@tidings/testkit/eventually";
import { deliveriesByDurable, messagesIn } from "./bus.ts";
import { make } from "./people.ts";
import { query } from "./query.ts";
import { startTestStack } from "./stack.ts";
import { visitor } from "./visitor.ts";

/** An event wakes the services that act on it, and no other. */

const stack = await startTestStack();
after(() => stack.stop());
const { api, database, nats } = stack;

async function wokenBy(stream: string, write: () => Promise<unknown>): Promise<string[]> {
  const before = await deliveriesByDurable(nats.url, stream);
  const messages = await messagesIn(nats.url, stream);
  await write();
  // A write may publish several events: all of them are sent before deliveries are counted.
  const waiting = `select id from ${stream.toLowerCase()}.outbox_waiting`;
  await eventually(async () => {
    assert.ok((await messagesIn(nats.url, stream)) > messages);
    assert.deepEqual(await query(database, waiting), []);
  });
  const after = await deliveriesByDurable(nats.url, stream);
  return [...after]
    .filter(([name, count]) => count > (before.get(name) ?? 0))
    .map(([name]) => name)
    .sort();
}

test("PATCH of a tweet wakes the audit alone, and PATCH of an email the contact service, too", async () => {
  const tweet = await make(api, "tweets", "tweet", { name: "News", text: "News" });
  const email = await make(api, "emails", "email", { name: "News", subject: "News" });
  await eventually(async () =>
    assert.equal((await deliveriesByDurable(nats.url, "CONTENT")).get("contact-projection-content"), 1),
  );
  const patchTweet = () => api("PATCH", `tweets/${tweet.id}/edit`, { text: "Other news" });
  assert.deepEqual(await wokenBy("CONTENT", patchTweet), ["reporting-audit-content"]);
  const patchEmail = () => api("PATCH", `emails/${email.id}/edit`, { subject: "Other news" });
  assert.deepEqual(await wokenBy("CONTENT", patchEmail), [
    "contact-projection-content",
    "reporting-audit-content",
  ]);
});

test("a note and a tag wake the audit alone", async () => {
  const { id } = await made("contacts", "contact", { email: "charles@example.com" });
  const woken = await wokenBy("CONTACT", () => make(api, "notes", "note", { lead: id, text: "Called." }));
  assert.deepEqual(woken, ["reporting-audit-contact"]);
  const tagged = await wokenBy("CONTACT", () => make(api, "tags", "tag", { tag: "keen" }));
  assert.deepEqual(tagged, ["reporting-audit-contact"]);
});

test("a new member of a segment wakes campaign and webhook, and no builder of segments", async () => {
  const { id } = await made("contacts", "contact", { email: "mary@example.com" });
  const segment = await made("segments", "list", { name: "Keen" });
  const woken = await wokenBy("CONTACT", () => api("POST", `segments/${segment.id}/contact/${id}/add`));
  assert.deepEqual(woken, ["campaign-projection-contact", "webhook-fan-out"]);
});

test("PATCH of a contact wakes neither campaign nor content", async () => {
  const contact = await made("contacts", "contact", { email: "ada@example.com" });
  const woken = await wokenBy("CONTACT", () =>
    api("PATCH", `contacts/${contact.id}/edit`, { city: "London" }),
  );
  assert.deepEqual(woken, ["contact-segments", "reporting-audit-contact", "webhook-fan-out"]);
});

test("a hit wakes whoever keeps it and notifies of it, and not the audit", async () => {
  const { baseUrl } = stack;
  const hit = () => visitor(baseUrl).hit({ page_url: "https://shop.example/a" });
  const woken = await wokenBy("CONTENT", hit);
  assert.deepEqual(woken, ["contact-projection-content", "webhook-fan-out-content"]);
});

/** Makes an entity of the contact service, and waits until its event is in the stream. */
async function made(path: string, one: string, body: object) {
  let entity: Awaited<ReturnType<typeof make>> | undefined;
  await wokenBy("CONTACT", async () => {
    entity = await make(api, path, one, body);
  });
  assert.ok(entity);
  return entity;
}
