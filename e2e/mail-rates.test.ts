import assert from "node:assert/strict";
import { after, test } from "node:test";
import { eventually } from "@tidings/testkit/eventually";
import { type SinkOptions, startMailSink, type TakenMail } from "@tidings/testkit/mail-sink";
import { addresses, newsletterTo, segmentOf } from "./newsletters.ts";
import { scrapeProcess } from "./scrape.ts";
import { startVisitedStack } from "./visited-stack.ts";

/** Two processes send under rates, by two mail servers of which the second stands in for the first. The journals of the servers judge. */

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it knows to be there
type Any = any;

const RATE = 10;
/** A full budget, and what processes held before: a slice each, and one mail. */
const TOLERANCE = 12;
const PATIENCE = { timeoutMs: 30_000 };

/** Recipients that a server was asked to take, in their order. */
const asked: { address: string; atMs: number; isRefused: boolean }[] = [];
/** Mails that a server took. */
const taken: TakenMail[] = [];
let isBusy = true;
const options: SinkOptions = {
  onRecipient(address) {
    const isRefused = isBusy && address.endsWith("@busy.example");
    asked.push({ address, atMs: performance.now(), isRefused });
    return isRefused ? "421 4.7.0 too many mails for now" : undefined;
  },
  onMail(mail) {
    taken.push(mail);
    return undefined;
  },
};
let first = await startMailSink(options);
const second = await startMailSink(options);
after(() => Promise.all([first.close(), second.close()]));
const urlOf = (port: number) => `smtp://127.0.0.1:${port}?tls=off`;
const stack = await startVisitedStack({
  replicas: { content: 2 },
  env: {
    content: {
      MAIL_URL: `${urlOf(first.port)}, ${urlOf(second.port)}`,
      MAIL_FROM: "Shop <shop@mail.example>",
      MAIL_CONNECTIONS: "4",
      MAIL_RATE: `${RATE}/s`,
      MAIL_DOMAIN_RATES: "slow.example=1/s",
    },
  },
});
after(() => stack.stop());
const { api, made } = stack;

const newsletterOf = async (emails: string[]) => newsletterTo(stack, [(await segmentOf(stack, emails)).id]);
const takenBy = (name: string) => taken.flatMap(({ to }) => to).filter((address) => address.startsWith(name));
const askedFor = (name: string) => asked.filter(({ address }) => address.startsWith(name));
const begin = (emailId: number) => void api("POST", `emails/${emailId}/send`).catch(() => undefined); // it is not waited for
async function latest(emailId: number): Promise<Any> {
  return ((await api("GET", `emails/${emailId}/sends`)).body as Any).sends[0];
}

/** The most mails within any time of so many milliseconds. */
function mostWithin(times: number[], windowMs: number): number {
  const counts = times.map((from) => times.filter((at) => at >= from && at < from + windowMs).length);
  return Math.max(...counts);
}

test("two processes together stay below MAIL_RATE, and a direct send does not wait behind their broadcasts", async () => {
  const { id } = await segmentOf(stack, addresses("many", 3));
  // A process takes one mail of an email until it knows that it is taken: so each of them has some.
  const ids = await Promise.all(Array.from({ length: 15 }, () => newsletterTo(stack, [id])));
  const { contact } = await made("contacts/new", { email: "direct@example.org" });
  const { email } = await made("emails/new", { name: "Hello", subject: "Hello", customHtml: "<p>Hello</p>" });
  for (const id of ids) begin(id);
  await eventually(() => assert.ok(askedFor("many").length >= 10), PATIENCE);
  const answer = (await api("POST", `emails/${email.id}/contact/${contact.id}/send`)).body as Any;
  assert.equal(answer.success, 1);
  assert.deepEqual(takenBy("direct"), ["direct@example.org"]);
  const before = askedFor("many").length;
  assert.ok(before < 35, `the direct mail came behind ${before} others`);
  await eventually(() => assert.equal(takenBy("many").length, 45), PATIENCE);
  const times = asked.map(({ atMs }) => atMs);
  for (const seconds of [1, 2, 3]) {
    const most = mostWithin(times, seconds * 1_000);
    assert.ok(most <= seconds * RATE + TOLERANCE, `${most} mails within ${seconds} s`);
  }
  for (const name of ["content", "content-2"]) {
    const { value } = await scrapeProcess(stack, name);
    const labels = { transport: `smtp://127.0.0.1:${first.port}`, outcome: "taken" };
    assert.ok((value("tidings_mail_hand_overs_total", labels) ?? 0) > 5, `${name} sent too few to judge`);
  }
  const overall = ((times.at(-1) ?? 0) - (times[0] ?? 0)) / 1_000;
  assert.ok(overall < 10, `46 mails took ${overall} s at ${RATE}/s`);
});

test("mails to a domain with a rate of its own wait without an attempt, and delay no mail to another one", async () => {
  const emailId = await newsletterOf([...addresses("slow", 40, "slow.example"), ...addresses("fast", 20)]);
  begin(emailId);
  await eventually(() => assert.equal(takenBy("fast").length, 20), PATIENCE);
  const slow = askedFor("slow").map(({ atMs }) => atMs);
  assert.ok(slow.length < 15, `${slow.length} mails to the slow domain went before the last of the others`);
  assert.ok(mostWithin(slow, 2_000) <= 5, String(mostWithin(slow, 2_000)));
  const progress = await latest(emailId);
  assert.match(progress.lastError, /MAIL_DOMAIN_RATES/);
  const [row] = await stack.query(
    `select max(attempts) as attempts, count(*) filter (where started_at is not null) as started, max(due_at) > now() + interval '5 s' as is_later
     from content.sends where email_id = ${emailId} and state = 'waiting'`,
  );
  assert.deepEqual([Number(row.attempts), Number(row.started), row.is_later], [0, 0, true]);
  await api("POST", `emails/${emailId}/sends/${progress.id}/cancel`);
});

test("the second server takes mails while the first is away", async () => {
  await first.close();
  const emailId = await newsletterOf(addresses("failover", 20));
  begin(emailId);
  await eventually(() => assert.equal(takenBy("failover").length, 20), PATIENCE);
  assert.equal(new Set(takenBy("failover")).size, 20);
  assert.equal((await latest(emailId)).sent, 20);
});

test("a domain that answers 421 gets fewer mails from all processes, is counted, and gets them as usual once it is well", async () => {
  const emailId = await newsletterOf([...addresses("busy", 40, "busy.example"), ...addresses("idle", 20)]);
  begin(emailId);
  await eventually(() => assert.equal(takenBy("idle").length, 20), PATIENCE);
  const refused = askedFor("busy").length;
  assert.ok(refused > 0 && refused < 30, `${refused} of 40 mails went to the busy domain`);
  const [learned] = await stack.query("select * from content.learned_rates");
  assert.equal(learned.domain, "busy.example");
  const { value } = await scrapeProcess(stack, "content-2");
  assert.equal(value("tidings_mail_domains_held_back", {}), 1);
  assert.match((await latest(emailId)).lastError, /too many mails for now/);
  isBusy = false;
  // Ten minutes without a refusal go by.
  await stack.query(
    "update content.learned_rates set refused_at = refused_at - interval '10 min', halved_at = halved_at - interval '10 min'",
  );
  await eventually(
    async () => assert.deepEqual(await stack.query("select from content.learned_rates"), []),
    PATIENCE,
  );
  const other = await newsletterOf(addresses("well", 15, "busy.example"));
  begin(other);
  const fromMs = performance.now();
  await eventually(() => assert.equal(takenBy("well").length, 15), PATIENCE);
  assert.ok(performance.now() - fromMs < 5_000);
});

test("the first server takes mails again once a probe found it back, and no address got two mails", async () => {
  first = await startMailSink(options, first.port);
  const { email } = await made("emails/new", { name: "Hello", subject: "Hello", customHtml: "<p>Hello</p>" });
  const { contact } = await made("contacts/new", { email: "back@example.org" });
  await eventually(
    async () => {
      await made(`emails/${email.id}/contact/${contact.id}/send`, {});
      assert.ok(first.taken.length > 0);
    },
    { ...PATIENCE, intervalMs: 300 },
  );
  const mails = taken.map(({ to, octets }) => `${to} of email ${/^X-EMAIL-ID: (.*)\r$/m.exec(octets)?.[1]}`);
  const repeated = mails.filter((mail, index) => mails.indexOf(mail) < index && !mail.startsWith("back"));
  assert.deepEqual(repeated, []);
});
