import assert from "node:assert/strict";
import { test } from "node:test";
import { failoverTransport } from "./failover-transport.ts";
import type { HandOver, MailTransport } from "./mail-transport.ts";

const TAKEN: HandOver = { state: "taken", code: 250, text: "ok" };
const AWAY: HandOver = { state: "away", isRefusedSignIn: false, code: undefined, text: "ECONNREFUSED" };
const mail = {
  ...{ messageId: "01@mail.example", pieces: [Buffer.from("")], mayBegin: () => true },
  envelope: { from: "a@mail.example", to: "b@example.org", bcc: [] },
};

/** A transport with this outcome, which counts the mails that it is asked to take. */
function scripted(name: string, outcome: HandOver) {
  const state = { name, outcome, asked: 0, close: () => undefined };
  return Object.assign(state, {
    async handOver() {
      state.asked += 1;
      return state.outcome;
    },
  } satisfies Partial<MailTransport>);
}

function failover() {
  const [first, second] = [scripted("smtp://first:587", AWAY), scripted("smtp://second:587", TAKEN)];
  const clock = { nowMs: 0 };
  const transport = failoverTransport([first, second], () => clock.nowMs);
  const handOver = async (): Promise<string> => (await transport.handOver(mail)).state;
  return { first, second, clock, transport, handOver };
}

test("a mail goes on to the next transport when the first is away, which three failures take out but for probes after 15 s, 30 s, and so on to 5 minutes", async () => {
  const { first, second, clock, transport, handOver } = failover();
  assert.equal(transport.name, "smtp://first:587, smtp://second:587");
  for (let mails = 1; mails <= 10; mails += 1) assert.equal(await handOver(), "taken");
  assert.deepEqual([first.asked, second.asked], [3, 10]);
  const probes: number[] = [];
  for (; clock.nowMs < 1_500_000; clock.nowMs += 1_000) {
    const before = first.asked;
    await handOver();
    if (first.asked > before) probes.push(clock.nowMs / 1_000);
  }
  assert.deepEqual(probes, [15, 45, 105, 225, 465, 765, 1_065, 1_365]);
  first.outcome = TAKEN;
  clock.nowMs += 300_000;
  const before = second.asked;
  for (let mails = 0; mails < 5; mails += 1) await handOver();
  assert.equal(second.asked, before, "the first transport takes all mails again");
});

test("a mail whose transport is away after more than a minute is given to the next one by another attempt, so that it has an outcome in time", async () => {
  const { first, second, clock, handOver } = failover();
  const slow = (ms: number) => async () => {
    clock.nowMs += ms;
    return AWAY;
  };
  first.handOver = slow(60_000);
  assert.equal(await handOver(), "taken");
  first.handOver = slow(60_001);
  assert.equal(await handOver(), "away");
  assert.equal(second.asked, 1);
});

test("a mail that was refused, not begun, or may have arrived is given to no other transport", async () => {
  const { first, second, handOver } = failover();
  for (const outcome of [
    { state: "refused", by: "recipient", code: 450, text: "later", isForGood: false },
    { state: "unknown", text: "the line broke" },
    { state: "not begun" },
  ] satisfies HandOver[]) {
    first.outcome = outcome;
    assert.equal(await handOver(), outcome.state);
  }
  assert.equal(second.asked, 0);
});

test("one mail at a time is the probe, and the others go on to the next transport", async () => {
  const { first, second, clock, transport, handOver } = failover();
  for (let mails = 0; mails < 3; mails += 1) await handOver();
  clock.nowMs = 15_000;
  const slow = Promise.withResolvers<HandOver>();
  const counted = first.handOver;
  first.handOver = () => counted().then(() => slow.promise);
  const probe = transport.handOver(mail);
  await handOver();
  assert.deepEqual([first.asked, second.asked], [4, 4]);
  slow.resolve(TAKEN);
  assert.equal((await probe).state, "taken");
});

test("while all transports are out each of them is tried, so that the one that is back is found at once", async () => {
  const { second, handOver } = failover();
  second.outcome = AWAY;
  for (let mails = 0; mails < 5; mails += 1) assert.equal(await handOver(), "away");
  second.outcome = TAKEN;
  assert.equal(await handOver(), "taken");
});
