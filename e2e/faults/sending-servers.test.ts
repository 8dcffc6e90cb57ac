import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { eventually } from "@tidings/testkit/eventually";
import { queryAsSuperuser } from "@tidings/testkit/postgres";
import { startMailingStack } from "../mailing-stack.ts";
import { addresses, newsletterTo, segmentOf } from "../newsletters.ts";

/** A broadcast to a mail server that misbehaves in every way at once. FAULT_ROUNDS makes it longer. */

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it knows to be there
type Any = any;

const EACH = 4 * Number(process.env.FAULT_ROUNDS ?? 3);
const PATIENCE = { timeoutMs: 120_000, intervalMs: 200 };
const DRIP_MS = 400;

/** Outcomes by the beginning of the address, which is also how the server behaves. */
const BEHAVIOURS: Record<string, { state: "sent" | "failed" | "unknown"; isDeferred?: true }> = {
  well: { state: "sent" },
  drips: { state: "sent" },
  "hangs-up-unanswered": { state: "unknown" },
  "hangs-up-answered": { state: "sent" },
  greylists: { state: "sent", isDeferred: true },
  "is-full": { state: "sent", isDeferred: true },
  refuses: { state: "failed" },
};

const asked = new Map<string, number>();
const isFirst = (address: string) => {
  asked.set(address, (asked.get(address) ?? 0) + 1);
  return asked.get(address) === 1;
};
const stack = await startMailingStack({
  server: {
    onRecipient(address) {
      if (address.startsWith("refuses")) return "550 5.1.1 no such mailbox";
      // A code about one mailbox (RFC 3463, 3.3): others would hold back the whole domain.
      if (address.startsWith("greylists") && isFirst(address)) return "450 4.2.0 greylisted";
      return undefined;
    },
    async onMail({ to: [address = ""] }) {
      if (address.startsWith("drips")) await pause(DRIP_MS);
      return address.startsWith("is-full") && isFirst(address) ? "452 4.2.2 the mailbox is full" : undefined;
    },
    hangsUp({ to: [address = ""] }) {
      if (address.startsWith("hangs-up-unanswered")) return "unanswered";
      return address.startsWith("hangs-up-answered") ? "answered" : undefined;
    },
  },
  content: { MAIL_CONNECTIONS: "4" },
});
const { api, sink } = stack;

test("whatever a mail server does, nobody gets a mail twice, each mail ends by what was answered, and no mail waits for another's failure", async () => {
  const names = Object.keys(BEHAVIOURS);
  const all = names.map((name) => addresses(name, EACH, `${name}.example`));
  const { id } = await segmentOf(
    stack,
    // The kinds alternate.
    Array.from({ length: EACH }, (_, index) => all.map((own) => own[index] ?? "")).flat(),
  );
  const emailId = await newsletterTo(stack, [id]);
  const sending = api("POST", `emails/${emailId}/send`);
  const statesOf = async () => {
    const { sends } = (await api("GET", `sends?emailId=${emailId}&limit=500`)).body as Any;
    return Object.fromEntries(
      names.map((name) => [
        name,
        Object.keys(
          Object.groupBy(
            sends.filter(({ address }: Any) => address.endsWith(`@${name}.example`)),
            ({ state }: Any) => state,
          ),
        ),
      ]),
    );
  };
  // Only those that are asked to come again wait, and for longer than this.
  const soon = Object.entries(BEHAVIOURS).filter(([, { isDeferred }]) => !isDeferred);
  await eventually(async () => {
    const states = await statesOf();
    for (const [name, { state }] of soon) assert.deepEqual(states[name], [state], name);
  }, PATIENCE);
  const { sends } = (await api("GET", `emails/${emailId}/sends`)).body as Any;
  const deferred = EACH * (names.length - soon.length);
  assert.equal(sends[0].queued + sends[0].deferred, deferred, JSON.stringify(sends[0]));

  // Their time comes.
  await queryAsSuperuser(
    stack.database,
    "update content.sends set due_at = now() where state = 'waiting' and due_at > now()",
  );
  await sending;
  await eventually(async () => {
    const states = await statesOf();
    for (const [name, { state }] of Object.entries(BEHAVIOURS)) assert.deepEqual(states[name], [state], name);
  }, PATIENCE);
  const taken = sink.taken.flatMap(({ to }) => to);
  assert.equal(new Set(taken).size, taken.length, "an address got two mails");
  assert.equal(taken.length, EACH * (names.length - 1));
});
