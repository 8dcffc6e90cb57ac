import assert from "node:assert/strict";
import { test } from "node:test";
import { EmailRepliesSchema } from "@tidings/proto/tidings/content/v1/events";
import { eventually } from "@tidings/testkit/eventually";
import { isWithoutDovecot } from "@tidings/testkit/imap-server";
import { letter } from "@tidings/testkit/returned-mails";
import { readersOf, startInboxScene } from "../inbox-scene.ts";
import { publishedOn } from "../published.ts";

/** Two processes read one inbox, one at a time: the lease goes over when one dies or stands still while it reads. */

const PATIENCE = { timeoutMs: 120_000, intervalMs: 50 };
const MAILS = 200;

test("each mail takes effect once, also when the process that reads is killed, or stands still through its lease", {
  skip: isWithoutDovecot(),
}, async () => {
  const scene = await startInboxScene(2);
  const { stack, inbox } = scene;
  const readers = await readersOf(scene, 5);
  const [first, second] = [stack.process("content"), stack.process("content-2")];
  const replies = async () =>
    Number((await stack.query("select count(*) from content.send_replies"))[0]?.count);
  /** Ends the lease of the process that reads, and has another one read at once. */
  const lookNow = () => stack.query("update content.jobs set due_at = now() where kind = 'inbox'");
  let count = 0;
  const answer = () => {
    const { messageId } = readers[count % readers.length] ?? { messageId: "" };
    return inbox.deliver(letter([`In-Reply-To: <${messageId}>`, `Message-ID: <a-${++count}@example.org>`]));
  };
  async function interrupt(signal: "SIGKILL" | "SIGSTOP"): Promise<void> {
    // The second one reads, since the first one stands still.
    first.kill("SIGSTOP");
    const before = count;
    for (let mails = 0; mails < MAILS; mails += 1) await answer();
    await lookNow();
    await eventually(async () => assert.ok((await replies()) > before), PATIENCE);
    second.kill(signal);
    await lookNow();
    first.kill("SIGCONT");
    await eventually(async () => assert.equal(await replies(), count), PATIENCE);
  }
  await interrupt("SIGSTOP");
  second.kill("SIGCONT");
  // Whatever it goes on with changes nothing.
  await answer();
  await lookNow();
  await eventually(async () => assert.equal(await replies(), MAILS + 1), PATIENCE);
  await interrupt("SIGKILL");
  await second.restart();
  await eventually(async () => {
    for (const { flags } of await inbox.stored()) assert.match(flags, /[a-z]/);
  }, PATIENCE);
  const events = await publishedOn(stack, "tidings.content.email.replied", EmailRepliesSchema);
  const published = events.flatMap((event) => event.replies.map(({ messageId }) => messageId));
  assert.deepEqual([published.length, new Set(published).size], [count, count]);
  assert.equal(await replies(), count);
});
