import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { eventually } from "@tidings/testkit/eventually";
import { startMailingStack } from "../mailing-stack.ts";
import { addresses, newsletterTo, segmentOf } from "../newsletters.ts";
import { unsubscribeByOneClick, unsubscribeLink } from "../unsubscribe-link.ts";

/** Contacts say no before and while they are sent to. The clock of the mail server judges. FAULT_ROUNDS makes it longer. */

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it knows to be there
type Any = any;

const ROUNDS = Number(process.env.FAULT_ROUNDS ?? 3);
const MANY = 200 * ROUNDS;
/** Each way to say no is taken by so many, half of them before the send begins. */
const REFUSING = 6 * ROUNDS;
const CONNECTIONS = 2;
const MAIL_MS = 60;
const REST_MS = 40;
const PATIENCE = { timeoutMs: 180_000, intervalMs: 200 };
/** An answer of the contact service is good for so long. */
const GOOD_MS = 1_000;
/** From the start of a mail to its recipient at the mail server, on a busy machine. */
const ON_ITS_WAY_MS = 1_000;

/** When the mail server was given a recipient: no DATA begins before. */
const begun = new Map<string, number>();
let isSlow = false;
const stack = await startMailingStack({
  senders: 2,
  server: {
    onRecipient(address) {
      begun.set(address, Date.now());
      return undefined;
    },
    async onMail() {
      if (isSlow) await pause(MAIL_MS);
      return undefined;
    },
  },
  content: { MAIL_CONNECTIONS: String(CONNECTIONS) },
});
const { api, made, mailsTo } = stack;

interface Person {
  id: number;
  address: string;
  link: string;
}

/** Ways to say no, and for how long after the answer a mail may begin. */
const WAYS: Record<string, { goodMs: number; refuse(person: Person): Promise<unknown> }> = {
  "a do-not-contact entry": {
    goodMs: GOOD_MS,
    refuse: ({ id }) => made(`contacts/${id}/dnc/email/add`, {}),
  },
  "a deletion": {
    goodMs: GOOD_MS,
    async refuse({ id }) {
      const answer = await api("DELETE", `contacts/${id}/delete`);
      assert.equal(answer.status, 200, answer.text);
    },
  },
  "an unsubscribe": {
    goodMs: 0,
    async refuse({ link }) {
      const answer = await unsubscribeByOneClick(link);
      assert.equal(answer.status, 200, await answer.text());
    },
  },
};

test("no mail begins a second after a do-not-contact entry or a deletion was answered, and none after an unsubscribe", async () => {
  const { id, contactIds } = await segmentOf(stack, addresses("reader", MANY));
  const people = await peopleOf(id, contactIds);
  const emailId = await newsletterTo(stack, [id], { subject: "Second" });
  // Refusals come from the end of the list, which is written to last: a mail would begin later.
  const refusing = people.slice(-REFUSING * Object.keys(WAYS).length);
  const refusals = refusing.map((person, index) => {
    const way = Object.values(WAYS)[index % Object.keys(WAYS).length];
    assert.ok(way);
    return { person, way, answeredAt: 0 };
  });
  const sayNo = async (refusal: (typeof refusals)[number]) => {
    await refusal.way.refuse(refusal.person);
    refusal.answeredAt = Date.now();
  };

  const before = refusals.slice(0, refusals.length / 2);
  for (const refusal of before) await sayNo(refusal);
  begun.clear();
  isSlow = true;
  const sending = api("POST", `emails/${emailId}/send`);
  await eventually(() => assert.ok(begun.size > 10), PATIENCE);
  for (const refusal of refusals.slice(before.length)) {
    await sayNo(refusal);
    await pause(REST_MS);
  }
  const progress = await eventually(async () => {
    const { sends } = (await api("GET", `emails/${emailId}/sends`)).body as Any;
    assert.equal(sends[0].state, "finished");
    return sends[0];
  }, PATIENCE);
  await sending;

  for (const { person, way, answeredAt } of refusals) {
    const at = begun.get(person.address);
    const lateMs = at === undefined ? 0 : at - answeredAt;
    assert.ok(lateMs <= way.goodMs + ON_ITS_WAY_MS, `${person.address} was written to after ${lateMs} ms`);
  }
  for (const { person } of before) assert.equal(begun.get(person.address), undefined, person.address);
  assert.equal(progress.failed + progress.unknown + progress.cancelled, 0);
  const second = mailsTo("reader").filter(({ octets }) => octets.includes("\r\nSubject: Second\r\n"));
  const written = second.flatMap(({ to }) => to);
  assert.equal(new Set(written).size, written.length, "an address got two mails");
  assert.equal(progress.sent, written.length);
  const refused = new Set(refusals.map(({ person }) => person.address));
  assert.equal(written.filter((address) => !refused.has(address)).length, MANY - refused.size);
  // Mails would have begun for long enough after the noes.
  assert.ok(refusals.some(({ person }, index) => index >= before.length && !begun.has(person.address)));
});

/** The contacts with their links, which an earlier mail brings them. */
async function peopleOf(segmentId: number, contactIds: number[]): Promise<Person[]> {
  await made(`emails/${await newsletterTo(stack, [segmentId], { subject: "First" })}/send`, {});
  const mails = await eventually(() => {
    const mails = mailsTo("reader");
    assert.equal(mails.length, MANY);
    return mails;
  }, PATIENCE);
  const links = new Map(mails.map(({ to: [address = ""], octets }) => [address, unsubscribeLink(octets)]));
  return addresses("reader", MANY).map((address, index) => ({
    ...{ address, id: contactIds[index] ?? 0, link: links.get(address) ?? "" },
  }));
}
