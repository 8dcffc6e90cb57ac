import assert from "node:assert/strict";
import { test } from "node:test";
import { createLog } from "@tidings/runtime/log";
import { messagePreparer } from "./hand-over.ts";

/** Answers of servers as their manuals and logs have them, by the command that they answer. */
const OF_SENDERS: ["recipient" | "message", number, string][] = [
  ["recipient", 553, "5.7.1 <shop@mail.example>: Sender address rejected: not owned by user shop"],
  ["recipient", 554, "5.7.1 <ada@example.org>: Relay access denied"],
  ["recipient", 530, "5.7.0 Must issue a STARTTLS command first"],
  ["recipient", 550, "5.7.57 Client not authenticated to send mail"],
  ["message", 550, "5.7.60 SMTP; Client does not have permissions to send as this sender"],
  ["message", 550, "5.4.5 Daily user sending limit exceeded"],
  [
    "message",
    554,
    "Message rejected: Email address is not verified. The following identities failed the check",
  ],
  ["message", 454, "Throttling failure: Daily message quota exceeded."],
  ["message", 550, "5.7.705 Access denied, tenant has exceeded threshold"],
  ["message", 550, "5.1.8 Access denied, bad outbound sender"],
];
const OF_RECIPIENTS: ["recipient" | "message", number, string][] = [
  ["recipient", 550, "5.1.1 no such mailbox"],
  ["recipient", 552, "5.2.2 The message quota of the mailbox is used up"],
  ["recipient", 550, "5.2.1 The account is disabled"],
  ["recipient", 550, "5.7.1 You are not allowed to send to this group"],
  ["recipient", 554, "5.7.1 Service unavailable; client host blocked by the recipient's list"],
  ["message", 554, "5.6.0 spam"],
  ["message", 550, "5.7.1 Message rejected as spam by content filtering"],
];

async function outcomeOf([by, code, text]: (typeof OF_SENDERS)[number]) {
  const prepare = messagePreparer({
    log: createLog("test", "silent"),
    write: async () => ({ address: "ada@example.org" }),
    handOver: async () => ({ state: "refused", by, code, text, isForGood: code >= 500 }),
    ask: async () => ({ refusal: "", isFresh: () => true }),
    isBulk: () => true,
  });
  const send = { id: "1", leaseToken: 1, group: 1, attempts: 9, isOrdered: false, isFailing: false };
  const prepared = await prepare(send);
  return typeof prepared === "function" ? prepared(async () => "begun", undefined) : prepared;
}

test("a refused sender, credential or quota has the mail and the others wait with the reason, whatever command was answered", async () => {
  for (const answer of OF_SENDERS) {
    const outcome = await outcomeOf(answer);
    const { state, isEverybody, isAttempt, reason } = outcome ?? {};
    assert.deepEqual([state, isEverybody, isAttempt, reason], ["waiting", true, false, answer[2]]);
  }
});

test("a refused recipient or message fails alone", async () => {
  for (const answer of OF_RECIPIENTS) {
    const { state, isEverybody } = (await outcomeOf(answer)) ?? {};
    assert.deepEqual([state, isEverybody], ["failed", false], answer[2]);
  }
});
