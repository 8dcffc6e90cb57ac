import assert from "node:assert/strict";
import { test } from "node:test";
import { EmailRepliesSchema } from "@tidings/proto/tidings/content/v1/events";
import { eventually } from "@tidings/testkit/eventually";
import { isWithoutDovecot } from "@tidings/testkit/imap-server";
import {
  complaint,
  exchangeBounce,
  eximBounce,
  gmailBounce,
  letter,
  postfixBounce,
} from "@tidings/testkit/returned-mails";
import { INBOX, type Reader, read, readersOf, startInboxScene } from "./inbox-scene.ts";
import { publishedOn } from "./published.ts";
import { scrapeProcess } from "./scrape.ts";
import type { VisitedStack } from "./visited-stack.ts";

/** Mails that come back into an inbox: a real Dovecot keeps it. */

const skip = isWithoutDovecot();

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it knows to be there
type Any = any;

const sendOf = async ({ api }: VisitedStack, { id }: Reader): Promise<Any> =>
  ((await api("GET", `sends?contactId=${id}`)).body as Any).sends[0];

/** Answers as events carry them. */
async function repliesPublished(stack: VisitedStack) {
  const events = await publishedOn(stack, "tidings.content.email.replied", EmailRepliesSchema);
  return events.flatMap(({ replies }) =>
    replies.map(({ sendId, contactId, messageId }) => [sendId, contactId, messageId]),
  );
}

const noOf = async ({ api }: VisitedStack, { id }: Reader): Promise<Any> =>
  ((await api("GET", `contacts/${id}`)).body as Any).contact.doNotContact.map(
    ({ reason, channel, channelId }: Any) => [...[reason, channel, channelId]],
  );

test("an inbox is read: bounces, complaints, unsubscribes and replies take effect once, and nothing else does", {
  skip,
}, async (t) => {
  const scene = await startInboxScene();
  const { stack, inbox } = scene;
  const readers = await readersOf(scene, 10);
  const [gone, alsoGone, full, blocked, angry, leaving, pleased, away, forged, other] = readers as [
    ...[Reader, Reader, Reader, Reader, Reader, Reader, Reader, Reader, Reader, Reader],
  ];
  const before = await Promise.all(readers.map((reader) => sendOf(stack, reader)));
  const seen = async () =>
    (await inbox.stored()).map(({ text, flags }) => [/^Subject: (.*?)\r?$/m.exec(text)?.[1], flags]);

  await t.test("mails have a signed return address of their own, and unsubscribe by mail", () => {
    for (const { to, mail } of readers) {
      assert.match(to, /^bounces\+[a-z2-7]{45}@inbox\.example$/);
      assert.match(
        mail,
        new RegExp(
          `^List-Unsubscribe: <http[^>]+>, <mailto:${to.replace("+", "\\+")}\\?subject=unsubscribe>\r$`,
          "m",
        ),
      );
    }
    assert.equal(new Set(readers.map(({ to }) => to)).size, readers.length);
  });

  const signature = (reader: Reader) => ({ ...reader, to: other.to.replace(/\+..../, "+aaaa"), fields: [] });
  const mails = [
    postfixBounce(gone),
    gmailBounce(alsoGone),
    eximBounce(full),
    exchangeBounce(blocked),
    complaint(angry, INBOX),
    letter([`To: <${leaving.to.toUpperCase()}>`, "Subject: Unsubscribe"]),
    letter([`In-Reply-To: <${pleased.messageId}>`, "Message-ID: <answer-1@example.org>"]),
    letter([
      `In-Reply-To: <${away.messageId}>`,
      `To: ${away.to}`,
      "Auto-Submitted: auto-replied",
      "Subject: Away",
    ]),
    // Without a right signature, or of another recipient.
    postfixBounce({ ...signature(forged), to: INBOX }),
    postfixBounce(signature(forged)),
    complaint({ ...signature(forged) }, INBOX),
    postfixBounce({ ...forged, recipient: "copy@example.org" }),
    letter([`To: ${INBOX}`, "Subject: unsubscribe", "X-Case: unsigned"]),
    letter(["In-Reply-To: <01990000-0000-7000-8000-000000000000@mail.example>", "Subject: Of another mail"]),
    "no mail at all",
    postfixBounce(other)
      .replace("Action: failed", "Action: none")
      .replace("Undelivered Mail Returned", "Broken"),
  ];

  await t.test("each mail takes its effect, beside mails that cannot be read", async () => {
    for (const mail of mails) await inbox.deliver(mail);
    await read(scene);
    const bounces = await Promise.all(readers.map((reader) => sendOf(stack, reader)));
    assert.deepEqual(
      bounces.map(({ bounce }) => bounce ?? null),
      ["hard", "hard", "soft", "blocked", null, null, null, null, null, null],
    );
    assert.deepEqual([bounces[0].code, bounces[2].reason], [550, "552 5.2.2 mailbox full"]);
    assert.ok(bounces[4].dateComplained && !bounces[5].dateComplained);
    assert.deepEqual(
      bounces.map(({ dateRead }) => dateRead != null),
      readers.map((reader) => reader === pleased),
    );
    assert.deepEqual([bounces[7], bounces[8], bounces[9]], [before[7], before[8], before[9]]);
    await eventually(async () => {
      const nos = await Promise.all(readers.map((reader) => noOf(stack, reader)));
      const no = (reason: number) => [[reason, "email", gone.emailId]];
      assert.deepEqual(nos, [no(2), no(2), [], [], no(1), no(1), [], [], [], []]);
    });
    const replies = await stack.query("select send_hash, message_id from content.send_replies");
    assert.deepEqual(replies, [{ send_hash: pleased.hash, message_id: "answer-1@example.org" }]);
    assert.deepEqual(await repliesPublished(stack), [[pleased.hash, pleased.id, "answer-1@example.org"]]);
  });

  await t.test("people see what is theirs as unread, and what could not be read as flagged", async () => {
    const flags = Object.fromEntries(await seen());
    const { "Re: News": reply, "Of another mail": ofAnother, Away: automatic } = flags;
    assert.deepEqual([reply, ofAnother, automatic, flags["FW: News"]], ["a", "a", "Sa", "Sa"]);
    const flagged = (await inbox.stored())
      .filter(({ flags: letters }) => letters === "Fa")
      .map(({ text }) => text);
    assert.equal(flagged.length, 2);
    const { value } = await scrapeProcess(stack, "content");
    const kinds = ["report", "unsubscribe", "reply", "automatic", "unsigned", "other"];
    assert.deepEqual(
      kinds.map((kind) => value("tidings_inbox_mails_total", { kind })),
      [6, 1, 1, 1, 3, 2],
    );
    assert.equal(value("tidings_inbox_set_aside_total", { reason: "unreadable" }), 2);
    assert.equal(value("tidings_callback_items_total", { provider: "inbox", outcome: "unmatched" }), 1);
  });

  await t.test("mails that are read a second time change nothing", async () => {
    const versions = async () =>
      stack.query("select hash, version, open_count from content.sends order by hash");
    const [once, events] = [await versions(), await stack.query("select count(*) from content.outbox")];
    for (const mail of mails) await inbox.deliver(mail);
    await read(scene);
    assert.deepEqual(await versions(), once);
    assert.deepEqual(await stack.query("select count(*) from content.outbox"), events);
    assert.equal((await stack.query("select from content.send_replies")).length, 1);
  });
});
