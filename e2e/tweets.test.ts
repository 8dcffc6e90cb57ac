import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import { TweetSendsSchema } from "@tidings/proto/tidings/content/v1/events";
import { SendMethodService } from "@tidings/proto/tidings/content/v1/send";
import { generateActorKeyRing } from "@tidings/scripts/actor-keys";
import { eventually } from "@tidings/testkit/eventually";
import { type Answer, startReceiver } from "@tidings/testkit/receiver";
import { channelSends } from "./channel-sends.ts";
import { callContent } from "./content-calls.ts";
import { newPerson } from "./people.ts";
import { publishedOn } from "./published.ts";
import { scrapeProcess } from "./scrape.ts";
import { startVisitedStack } from "./visited-stack.ts";
import { visitor } from "./visitor.ts";

/** Tweets, as campaigns ask for them, and what becomes of them. */

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it knows to be there
type Any = any;

/** The answers of the provider by the handle that a tweet names; a tweet's id for all others. */
const answers = new Map<string, Answer>();
const textIn = (body: string): string => JSON.parse(body).text;
const handleIn = (text: string) => /@(\w+)/.exec(text)?.[1] ?? "";
let tweeted = 0;
const provider = await startReceiver({
  respond: ({ body }) =>
    answers.get(handleIn(textIn(body))) ?? { status: 201, body: `{"data":{"id":"1${++tweeted}"}}` },
});
after(provider.stop);
const actorKeyRing = generateActorKeyRing();
const stack = await startVisitedStack({
  hasOwnHost: true,
  actorKeyRing,
  env: {
    content: {
      TWEET_URL: `json+http://t0ken@127.0.0.1:${provider.port}/2/tweets?body={"text":"{text}"}`,
      OUTBOUND_ALLOW_CIDRS: "127.0.0.1/32",
    },
  },
});
after(() => stack.stop());
beforeEach(() => answers.clear());
const { api, baseUrl, publicUrl, made } = stack;
const content = await callContent(stack, SendMethodService, actorKeyRing);

let count = 0;
/** A contact with a handle of its own. */
async function contact(members: object = {}): Promise<{ id: number; handle: string }> {
  const handle = `ada_${++count}`;
  const { contact: one } = await made("contacts/new", {
    ...{ firstname: "Ada", email: `tweet-${count}@example.org`, twitter: `https://twitter.com/${handle}` },
    ...members,
  });
  return { id: one.id, handle };
}
async function tweet(members: object = {}): Promise<number> {
  const { tweet: one } = await made("tweets/new", {
    ...{ name: "Hello", text: "Hello {contactfield=firstname} {twitter_handle}", isPublished: true },
    ...members,
  });
  return one.id;
}
const tweetOf = async (id: number) => ((await api("GET", `tweets/${id}`)).body as Any).tweet;
const postsTo = (handle: string) => provider.requests.filter(({ body }) => handleIn(textIn(body)) === handle);

const { ask, becomes, listed } = channelSends(stack, content, "tweet");

test("a tweet is posted once for a contact and an occasion, with the handle and values, and counts", async () => {
  const tweetId = await tweet();
  const { id, handle } = await contact({ firstname: "Zoë" });
  const [one, other] = await Promise.all([ask(tweetId, [id]), ask(tweetId, [id])]);
  assert.deepEqual([one, other].map(([outcome]) => outcome?.isNew).toSorted(), [false, true]);
  const send = await becomes(tweetId, id, "sent");
  const [request, ...more] = postsTo(handle);
  assert.deepEqual(more, []);
  assert.equal(request?.headers.authorization, "Bearer t0ken");
  assert.deepEqual(JSON.parse(request?.body ?? ""), { text: `Hello Zoë @${handle}` });
  assert.match(send.id, /^tweet-\d+$/);
  assert.deepEqual(
    [send.channel, send.address, send.text, send.code, send.occasion],
    ["tweet", handle, `Hello Zoë @${handle}`, 201, "campaign:1:1"],
  );
  assert.match(send.providerId, /^1\d+$/);
  assert.equal((await tweetOf(tweetId)).sentCount, 1);
  const events = await publishedOn(stack, "tidings.content.tweet.sent", TweetSendsSchema);
  const facts = events.flatMap(({ sends, tweets }) => sends.map((fact) => ({ ...fact, named: tweets })));
  const [fact, ...others] = facts.filter(({ tweetId: named }) => named === tweetId);
  assert.deepEqual(others, []);
  assert.deepEqual(
    [fact?.id, fact?.contactId, fact?.address, fact?.twitterTweetId, fact?.responseDetails, fact?.retryCount],
    [send.hash, id, handle, send.providerId, `{"data":{"id":"${send.providerId}"}}`, 0],
  );
  assert.deepEqual([fact?.source, fact?.sourceId, fact?.isFailed], ["campaign.event", 5, false]);
  assert.equal(fact?.named[0]?.name, "Hello");
  const [again] = await ask(tweetId, [id], "campaign:1:2");
  assert.equal(again?.isNew, true);
  await eventually(() => assert.equal(postsTo(handle).length, 2));
});

test("a click in a tweet counts for the tweet, and its visitor is not taken for the contact of the tweet", async () => {
  const { id, handle } = await contact();
  const tweetId = await tweet({ text: "{twitter_handle} see https://shop.example/?a=1." });
  await ask(tweetId, [id]);
  await becomes(tweetId, id, "sent");
  const [, link = ""] = /see (http\S+)\.$/.exec(textIn(postsTo(handle)[0]?.body ?? "")) ?? [];
  const stranger = visitor(baseUrl, { host: new URL(publicUrl).host });
  const followed = await stranger.ask(link.slice(new URL(publicUrl).origin.length));
  assert.deepEqual([followed.status, followed.headers.location], [302, "https://shop.example/?a=1"]);
  await eventually(async () => {
    const [hit, ...more] = await stack.query(
      `select contact_id, source_id from content.page_hits where source = 'tweet' and source_id = ${tweetId}`,
    );
    assert.deepEqual(more, []);
    assert.ok(hit);
    assert.notEqual(hit.contact_id, id);
  });
});

test("a contact who said no, has no handle, or a malformed one gets none, and each has a reason", async () => {
  const tweetId = await tweet();
  const [no, none, odd] = [
    await contact(),
    await contact({ twitter: "" }),
    await contact({ twitter: "a b" }),
  ];
  await made(`contacts/${no.id}/dnc/tweet/add`, { reason: 3 });
  const outcomes = await ask(tweetId, [no.id, none.id, odd.id, 2_000_000_000]);
  assert.deepEqual(
    outcomes.map(({ state, reason }) => [state, reason]),
    [
      ["refused", "manual"],
      ["refused", "not_written"],
      ["refused", "not_written"],
      ["refused", "not_found"],
    ],
  );
  const hidden = await tweet({ isPublished: false });
  assert.equal((await ask(hidden, [(await contact()).id]))[0]?.reason, "unpublished");
  assert.deepEqual([postsTo(no.handle).length, await listed(`tweetId=${tweetId}`)], [0, []]);
});

test("a frequency rule for tweets holds back tweets that nobody asked for, and no other contact's", async () => {
  const [first, second] = [await tweet(), await tweet()];
  const rule = { tweet: { frequency_number: 1, frequency_time: "DAY" } };
  const [often, free] = [await contact({ frequencyRules: rule }), await contact()];
  const ids = [often.id, free.id];
  await ask(first, ids);
  for (const id of ids) await becomes(first, id, "sent");
  // The contact service counts what it heard of.
  await eventually(async () => {
    const [counted] = await stack.query(
      `select count(*) from contact.tweet_sends where contact_id = ${often.id}`,
    );
    assert.equal(counted?.count, "1");
  });
  await ask(second, ids);
  await becomes(second, free.id, "sent");
  await eventually(async () => {
    const [held] = await listed(`tweetId=${second}&contactId=${often.id}`);
    assert.deepEqual([held?.state, held?.reason], ["deferred", "frequency"]);
  });
  assert.deepEqual([postsTo(often.handle).length, postsTo(free.handle).length], [1, 2]);
});

test("a tweet waits while the provider is away, is suppressed by a no that comes meanwhile, and fails when refused for good", async () => {
  const tweetId = await tweet();
  const [late, no, refused] = [await contact(), await contact(), await contact()];
  for (const { handle } of [late, no]) answers.set(handle, { status: 503 });
  answers.set(refused.handle, { status: 400, body: '{"title":"x","message":"Too long"}' });
  await ask(
    tweetId,
    [late, no, refused].map(({ id }) => id),
  );
  await eventually(async () => {
    for (const { id } of [late, no])
      assert.deepEqual((await listed(`tweetId=${tweetId}&contactId=${id}`))[0]?.code, 503);
  });
  await made(`contacts/${no.id}/dnc/tweet/add`, {});
  answers.delete(late.handle);
  answers.delete(no.handle);
  const before = postsTo(no.handle).length;
  await eventually(async () => {
    await stack.query(`update content.tweet_sends set due_at = now() where state = 'waiting'`);
    assert.equal((await listed(`tweetId=${tweetId}&contactId=${late.id}`))[0]?.state, "sent");
  });
  assert.equal((await becomes(tweetId, no.id, "suppressed")).reason, "manual");
  assert.equal(postsTo(no.handle).length, before);
  const failed = await becomes(tweetId, refused.id, "failed");
  assert.deepEqual([failed.reason, failed.code], ["Too long", 400]);
  assert.equal((await tweetOf(tweetId)).sentCount, 1);
  for (const [verb, contactId] of [
    ["failed", refused.id],
    ["suppressed", no.id],
  ] as const) {
    const events = await publishedOn(stack, `tidings.content.tweet.${verb}`, TweetSendsSchema);
    const own = events.flatMap(({ sends }) => sends).filter((send) => send.tweetId === tweetId);
    assert.deepEqual(
      own.map((send) => [send.contactId, send.state]),
      [[contactId, verb]],
    );
  }
});

test("a failed tweet is tried again by name, as a job, and is counted once", async () => {
  const [tweetId, refused] = [await tweet(), await contact()];
  const posts = () => postsTo(refused.handle).length;
  answers.set(refused.handle, { status: 400, body: '{"message":"Too long"}' });
  await ask(tweetId, [refused.id]);
  await becomes(tweetId, refused.id, "failed");
  answers.clear();
  await made("sends/replay", { tweetId });
  await becomes(tweetId, refused.id, "sent");
  assert.deepEqual([posts(), (await tweetOf(tweetId)).sentCount], [2, 1]);
});

test("a tweet of unknown outcome is not posted again, until somebody decides it once", async () => {
  const tweetId = await tweet();
  const [one, other] = [await contact(), await contact()];
  for (const { handle } of [one, other]) answers.set(handle, { drop: true });
  await ask(tweetId, [one.id, other.id]);
  const { id } = await becomes(tweetId, one.id, "unknown");
  const { id: otherId } = await becomes(tweetId, other.id, "unknown");
  answers.clear();
  const unknown = (await listed("state=unknown")).map((send) => send.id);
  assert.ok(unknown.includes(id) && unknown.includes(otherId));
  const resolve = (sendId: string, as: string, who = api) => who("POST", `sends/${sendId}/resolve`, { as });
  const outcomes = await Promise.all([1, 2, 3].map(() => resolve(id, "sent")));
  assert.deepEqual(outcomes.map(({ status }) => status).toSorted(), [200, 409, 409]);
  assert.equal((await tweetOf(tweetId)).sentCount, 1);
  assert.equal(((await resolve(otherId, "again")).body as Any).send.state, "queued");
  await becomes(tweetId, other.id, "sent");
  assert.deepEqual([postsTo(one.handle).length, postsTo(other.handle).length], [1, 2]);
  for (const odd of ["tweet-2000000000", "tweet-0", "tweet-x", id.replace("tweet", "sms")])
    assert.ok([404, 409].includes((await resolve(odd, "sent")).status), odd);
});

test("sends of tweets need the rights of the tweet and the contact, and a query that names one of them", async () => {
  const tweetId = await tweet();
  const { id } = await contact();
  await ask(tweetId, [id]);
  const send = await becomes(tweetId, id, "sent");
  const contacts = { "lead:leads": ["full"] };
  const personWith = async (rights: Record<string, string[]>) => (await newPerson(stack, rights)).api;
  const mailer = await personWith({ "email:emails": ["full"], ...contacts });
  assert.equal((await mailer("GET", `sends?channel=tweet&tweetId=${tweetId}`)).status, 403);
  const owner = await personWith({ "svcSocial:tweets": ["viewown", "editown"], ...contacts });
  assert.deepEqual(await listed(`contactId=${id}`, owner), []);
  assert.equal((await owner("POST", `sends/${send.id}/resolve`, { as: "sent" })).status, 404);
  const blind = await personWith({ "svcSocial:tweets": ["full"] });
  assert.deepEqual(await listed(`tweetId=${tweetId}`, blind), []);
  for (const [query, named] of [
    ["channel=tweet", "tweetId"],
    ["channel=tweet&emailId=1", "emailId"],
    ["tweetId=1", "channel=tweet"],
    ["channel=tweet&tweetId=0", "tweetId"],
    ["channel=tweet&tweetId=1&after=sms-1", "after"],
  ] as const) {
    const { status, text } = await api("GET", `sends?${query}`);
    assert.deepEqual([status, text.includes(named)], [400, true], `${query}: ${text}`);
  }
});

test("a marketing message goes on to a tweet where the contact said no to text messages", async () => {
  const { id, handle } = await contact({ mobile: "+4915112345678" });
  const { sms } = await made("smses/new", { name: "Offer", message: "Hi", isPublished: true });
  const tweetId = await tweet();
  const channels = [
    { channel: "sms", channelId: sms.id, isEnabled: true },
    { channel: "tweet", channelId: tweetId, isEnabled: true },
  ];
  const { message } = await made("messages/new", { name: "Offer", isPublished: true, channels });
  const { body } = await api("POST", `messages/${message.id}/contact/${id}/send`, {});
  assert.deepEqual(body, { success: 1, status: "sent", channel: "tweet", failed: { sms: "no_transport" } });
  assert.equal(postsTo(handle).length, 1);
  const [send] = await listed(`contactId=${id}`);
  assert.match(send.occasion, /^message:direct:.*:tweet$/);
});

test("tweets are counted by their channel and outcome, without what is secret in the URL", async () => {
  const { value } = await scrapeProcess(stack, "content");
  const transport = `json+http://127.0.0.1:${provider.port}`;
  const labels = { channel: "tweet", transport };
  assert.ok((value("tidings_text_hand_overs_total", { ...labels, outcome: "taken" }) ?? 0) > 0);
  assert.equal(value("tidings_text_hand_overs_total", { ...labels, outcome: "unknown" }), 2);
});
