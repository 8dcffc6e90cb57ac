import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { ReadItem } from "./feedback.ts";
import { readGeneric } from "./generic.ts";
import { readMailgun } from "./mailgun.ts";
import { readPostmark } from "./postmark.ts";
import { readSendgrid } from "./sendgrid.ts";
import { readSes } from "./ses.ts";
import { readSparkpost } from "./sparkpost.ts";

const HASH = "019ac0de-0000-7000-8000-000000000001";
const MESSAGE_ID = `<${HASH}@mail.example>`;
const AT = Date.parse("2026-11-25T12:00:00Z");
const SECONDS = AT / 1_000;
const ISO = "2026-11-25T12:00:00Z";
const address = "ada@example.org";

/** The kinds of an item's events; undefined for one that is malformed. */
const kindsOf = (read: ReadItem, item: unknown) => read(item)?.map(({ kind }) => kind);

function assertKinds(read: ReadItem, itemOf: (members: never) => unknown, cases: [object, string?][]): void {
  for (const [members, kind] of cases) {
    const item = itemOf(members as never);
    assert.deepEqual(kindsOf(read, item), kind === undefined ? [] : [kind], JSON.stringify(item));
    const [event] = read(item) ?? [];
    if (!event) continue;
    assert.deepEqual([event.hash, event.address, event.at], [HASH, address, AT], JSON.stringify(item));
    assert.notEqual(event.id, "");
  }
}

test("events of SendGrid", () => {
  assertKinds(
    readSendgrid,
    (members: object) => ({
      ...{ email: address, timestamp: SECONDS, "smtp-id": MESSAGE_ID, sg_event_id: "e1" },
      ...members,
    }),
    [
      [{ event: "delivered", response: "250 OK" }, "delivered"],
      [{ event: "bounce", type: "bounce", status: "5.1.1", reason: "550 5.1.1 no such user" }, "hard"],
      [{ event: "bounce", type: "bounce", status: "5.2.2" }, "soft"],
      [{ event: "bounce", type: "blocked", status: "4.0.0" }, "blocked"],
      [{ event: "dropped", reason: "Bounced Address" }, "hard"],
      [{ event: "dropped", reason: "Spam Reporting Address" }, "complaint"],
      [{ event: "dropped", reason: "Unsubscribed Address" }, "unsubscribe"],
      [{ event: "dropped", reason: "Recipient List over Package Quota" }, "blocked"],
      [{ event: "spamreport", "smtp-id": "<other@ismtpd>", tidings: HASH }, "complaint"],
      [{ event: "group_unsubscribe" }, "unsubscribe"],
      [{ event: "open" }],
      [{ event: "deferred" }],
    ],
  );
});

test("events of Mailgun", () => {
  assertKinds(
    readMailgun,
    (members: object) => ({
      ...{
        id: "e1",
        timestamp: SECONDS,
        recipient: address,
        message: { headers: { "message-id": MESSAGE_ID } },
      },
      ...members,
    }),
    [
      [{ event: "delivered" }, "delivered"],
      [
        { event: "failed", severity: "permanent", "delivery-status": { code: 550, message: "5.1.1" } },
        "hard",
      ],
      [
        { event: "failed", severity: "permanent", "delivery-status": { message: "550 5.7.1 spam" } },
        "blocked",
      ],
      [{ event: "failed", severity: "permanent", reason: "old" }, "soft"],
      [{ event: "failed", severity: "permanent", reason: "suppress-complaint" }, "complaint"],
      [{ event: "failed", severity: "temporary" }],
      [{ event: "complained" }, "complaint"],
      [{ event: "unsubscribed" }, "unsubscribe"],
      [{ event: "opened" }],
    ],
  );
});

test("events of SparkPost", () => {
  assertKinds(
    readSparkpost,
    (members: object) => ({
      msys: {
        message_event: {
          ...{ event_id: "9", rcpt_to: address, timestamp: String(SECONDS), rcpt_meta: { tidings: HASH } },
          ...members,
        },
      },
    }),
    [
      [{ type: "delivery" }, "delivered"],
      [{ type: "bounce", bounce_class: "10", error_code: "550" }, "hard"],
      [{ type: "out_of_band", bounce_class: "22" }, "soft"],
      [{ type: "bounce", bounce_class: "51" }, "blocked"],
      [{ type: "bounce", bounce_class: "60" }],
      [{ type: "spam_complaint" }, "complaint"],
      [{ type: "list_unsubscribe" }, "unsubscribe"],
      [{ type: "delay" }],
    ],
  );
  assert.deepEqual(readSparkpost({ msys: {} }), []);
});

test("events of Postmark", () => {
  assertKinds(
    readPostmark,
    (members: object) => ({
      ...{ ID: 42, MessageID: "m", Email: address, BouncedAt: ISO, Metadata: { tidings: HASH } },
      ...members,
    }),
    [
      [{ RecordType: "Bounce", Type: "HardBounce" }, "hard"],
      [{ RecordType: "Bounce", Type: "SoftBounce" }, "soft"],
      [{ RecordType: "Bounce", Type: "SpamNotification" }, "blocked"],
      [{ RecordType: "Bounce", Type: "AutoResponder" }],
      [{ RecordType: "SpamComplaint" }, "complaint"],
      [{ RecordType: "Delivery", ID: undefined, Email: undefined, Recipient: address }, "delivered"],
      [
        { RecordType: "SubscriptionChange", SuppressSending: true, SuppressionReason: "ManualSuppression" },
        "unsubscribe",
      ],
      [{ RecordType: "SubscriptionChange", SuppressSending: false, SuppressionReason: null }],
      [{ RecordType: "Open" }],
    ],
  );
});

test("events of SES", () => {
  const mail = { messageId: "ses-1", headers: [{ name: "Message-ID", value: MESSAGE_ID }] };
  const bounced = [{ emailAddress: address, status: "5.1.1", diagnosticCode: "smtp; 550 no such user" }];
  assertKinds(readSes, (members: object) => ({ mail, ...members }), [
    [
      {
        notificationType: "Bounce",
        bounce: { bounceType: "Permanent", bouncedRecipients: bounced, timestamp: ISO, feedbackId: "f" },
      },
      "hard",
    ],
    [
      {
        eventType: "Bounce",
        bounce: { bounceType: "Transient", bouncedRecipients: bounced, timestamp: ISO },
      },
      "soft",
    ],
    [
      {
        eventType: "Complaint",
        mail: { tags: { tidings: [HASH] } },
        complaint: { complainedRecipients: [{ emailAddress: address }], timestamp: ISO },
      },
      "complaint",
    ],
    [{ eventType: "Delivery", delivery: { recipients: [address], timestamp: ISO } }, "delivered"],
    [{ eventType: "Send" }],
  ]);
  const two = {
    bounceType: "Permanent",
    timestamp: ISO,
    bouncedRecipients: [...bounced, { emailAddress: "b@c.example" }],
  };
  const events = readSes({ notificationType: "Bounce", mail, bounce: two });
  assert.equal(new Set(events?.map(({ id }) => id)).size, 2);
});

test("events of others", () => {
  assertKinds(readGeneric, (members: object) => ({ id: "1", address, hash: HASH, time: ISO, ...members }), [
    [{ event: "hard", code: 550, reason: "gone" }, "hard"],
    [{ event: "delivered", hash: undefined, messageId: MESSAGE_ID }, "delivered"],
    [{ event: "complaint", time: SECONDS }, "complaint"],
    [{ event: "open" }],
  ]);
  for (const bad of [
    { event: "hard" },
    { event: "hard", address },
    { event: "gone", address, time: ISO },
    1,
    null,
    [],
  ])
    assert.equal(readGeneric(bad), undefined);
});

test("no item of any form is an error, and each text can be kept", () => {
  const word = fc.constantFrom(
    ...["event", "bounce", "hard", "Bounce", "msys", "mail", "time", "timestamp", "recipients", "RecordType"],
    ...[
      "email",
      "address",
      "hash",
      "reason",
      "__proto__",
      "a\u0000b",
      "\ud800",
      "delivered",
      "failed",
      "permanent",
    ],
    ...[ISO, HASH, MESSAGE_ID, address, "1".repeat(400)],
  );
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { depthSize: "small" },
      word,
      fc.constantFrom(null, true, 1e308, -1, SECONDS),
      fc.array(tie("tree"), { maxLength: 3 }),
      fc.dictionary(word, tie("tree"), { maxKeys: 6 }),
    ),
  }));
  const readers = [readGeneric, readMailgun, readPostmark, readSendgrid, readSes, readSparkpost];
  fc.assert(
    fc.property(tree, (item) => {
      for (const read of readers)
        for (const { text, address: to, id, at } of read(item) ?? []) {
          assert.ok(!/[\0\ud800]/.test(text + to + id));
          assert.ok(Number.isSafeInteger(at));
        }
    }),
    { numRuns: 500 },
  );
});
