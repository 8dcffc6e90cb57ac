import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "@tidings/testkit/eventually";
import { startMailingStack } from "./mailing-stack.ts";
import { addresses, contactsOf, newsletterTo, segmentOf } from "./newsletters.ts";

/** When sends to segments begin by themselves, whom they follow, and when they end. */

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it knows to be there
type Any = any;

/** Mails wait here while a test looks at a send that goes on. */
let held: Promise<void> | undefined;
const stack = await startMailingStack({
  server: {
    async onMail() {
      await held;
      return undefined;
    },
  },
  content: { MAIL_CONNECTIONS: "4" },
});
const { api, made, mailsTo, query } = stack;

const PATIENCE = { timeoutMs: 40_000, intervalMs: 100 };
const LONG_AGO = "2026-01-01T00:00:00Z";
const takenBy = (name: string) => mailsTo(name).flatMap(({ to }) => to);
const sendsOf = async (emailId: number): Promise<Any[]> =>
  ((await api("GET", `emails/${emailId}/sends`)).body as Any).sends;
async function edit(emailId: number, members: object): Promise<void> {
  const { status, text } = await api("PATCH", `emails/${emailId}/edit`, members);
  assert.equal(status, 200, text);
}
const lookNow = () => query("update content.jobs set due_at = now() where kind = 'broadcast'");

test("an email that is published after its publishUp begins at once, and another save of it begins nothing", async () => {
  const { id } = await segmentOf(stack, addresses("late", 3));
  const emailId = await newsletterTo(stack, [id], { publishUp: LONG_AGO, isPublished: false });
  assert.deepEqual(await sendsOf(emailId), []);
  await edit(emailId, { isPublished: true });
  await eventually(() => assert.equal(takenBy("late").length, 3), PATIENCE);
  await edit(emailId, { subject: "Newer" });
  const made = await newsletterTo(stack, [id], { publishUp: LONG_AGO });
  await eventually(() => assert.equal(takenBy("late").length, 6), PATIENCE);
  assert.deepEqual([(await sendsOf(emailId)).length, (await sendsOf(made)).length], [1, 1]);
});

test("with continueSending contacts that join the segment later get the email until it is published no more", async () => {
  const { id } = await segmentOf(stack, addresses("follow", 2));
  const [emailId, other] = [
    await newsletterTo(stack, [id], { publishUp: LONG_AGO, continueSending: true }),
    await newsletterTo(stack, [id], { publishUp: LONG_AGO }),
  ];
  await eventually(() => assert.equal(takenBy("follow").length, 4), PATIENCE);
  assert.equal((await sendsOf(emailId))[0].state, "sending");
  await eventually(async () => assert.equal((await sendsOf(other))[0].state, "finished"), PATIENCE);
  const ids = await contactsOf(stack, [{ email: "follow-later@example.org" }]);
  await made(`segments/${id}/contacts/add`, { ids });
  await lookNow();
  await eventually(() => assert.deepEqual(takenBy("follow-later").length, 1), PATIENCE);
  assert.equal((await sendsOf(emailId))[0].chosen, 3);
  await edit(emailId, { continueSending: false });
  await lookNow();
  await eventually(async () => assert.equal((await sendsOf(emailId))[0].state, "finished"), PATIENCE);
  assert.equal(takenBy("follow").length, 5);
});

test("sends that have not begun are cancelled with the reason once their email is published no more", async () => {
  for (const [name, members] of Object.entries({
    over: { publishDown: new Date(Date.now() - 1_000).toISOString() },
    taken: { isPublished: false },
  })) {
    const { id } = await segmentOf(stack, addresses(name, 40));
    const emailId = await newsletterTo(stack, [id]);
    const release = Promise.withResolvers<void>();
    held = release.promise;
    const sending = made(`emails/${emailId}/send`, {});
    await eventually(async () => {
      const [{ sending: begun, chosen }] = await sendsOf(emailId);
      assert.deepEqual([begun > 0, chosen], [true, 40]);
    }, PATIENCE);
    await edit(emailId, members);
    release.resolve();
    await sending;
    const [{ sent, cancelled, state }] = await eventually(async () => {
      const sends = await sendsOf(emailId);
      assert.equal(sends[0].state, "finished");
      return sends;
    }, PATIENCE);
    assert.deepEqual([sent + cancelled, state, takenBy(`${name}-`).length], [40, "finished", sent]);
    assert.ok(sent < 20, `${sent} went out after the end of the publication`);
    const { sends } = (await api("GET", `sends?emailId=${emailId}&state=cancelled`)).body as Any;
    assert.deepEqual([...new Set(sends.map(({ reason }: Any) => reason))], ["unpublished"]);
  }
});
