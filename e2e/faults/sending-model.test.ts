import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { eventually } from "@tidings/testkit/eventually";
import { startMailSink } from "@tidings/testkit/mail-sink";
import fc from "fast-check";
import { mailVariables } from "../mailing-stack.ts";
import { startVisitedStack } from "../visited-stack.ts";
import { assertAllowed, isGone, type LedgerRow, type ModelMail, survivorOf } from "./ledger-model.ts";
import {
  addContacts,
  addVariant,
  controlAny,
  edit,
  merge,
  PATIENCE,
  type Round,
  refuse,
  send,
  settle,
  startRound,
  type Welcomed,
} from "./sending-round.ts";

/**
 * Random operations on a family of emails while it is sent, one after the other and at once. A plain model says which ledger and which mails are allowed.
 * FAULT_ROUNDS makes it longer, FAULT_SEED takes other operations.
 */

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it knows to be there
type Any = any;

const ROUNDS = Number(process.env.FAULT_ROUNDS ?? 3);
const SEED = Number(process.env.FAULT_SEED ?? 20_261_126);
const MEMBERS = 50;
const MAIL_MS = 80;
const ROUND_MS_MAX = 180_000;
const taken: (ModelMail & Welcomed)[] = [];
const begun = new Map<string, number>();
/** A mailbox that does not exist is a no to all later mails: the first one arrives everywhere. */
let isWelcoming = false;
const sink = await startMailSink({
  onRecipient(address) {
    if (isGone(address) && !isWelcoming) return "550 5.1.1 no such mailbox";
    // No data begins before its recipient was taken.
    begun.set(address, Date.now());
    return undefined;
  },
  async onMail({ to: [address = ""], octets }) {
    if (!isWelcoming) await pause(MAIL_MS);
    const subject = /^Subject: (.*)\r$/m.exec(octets)?.[1] ?? "";
    taken.push({ address, subject, octets, begunAt: begun.get(address) ?? 0 });
    return undefined;
  },
});
after(() => sink.close());
const stack = await startVisitedStack({
  replicas: { content: 2 },
  env: {
    content: {
      ...mailVariables(sink.port),
      MAIL_CONNECTIONS: "2",
    },
  },
});
after(() => stack.stop());
const { api, query } = stack;

const OPERATIONS: Record<string, (round: Round, pick: number) => unknown> = {
  send: (round) => send(round),
  "send to some": (round, pick) => send(round, 1 + (pick % 20)),
  "two sends": (round) => [send(round), send(round)],
  pause: (round, pick) => controlAny(round, "pause", pick),
  resume: (round, pick) => controlAny(round, "resume", pick),
  cancel: (round, pick) => controlAny(round, "cancel", pick),
  edit,
  "add a variant": addVariant,
  join: (round, pick) => addContacts(round, 1 + (pick % 3)),
  merge,
  "do not contact": (round, pick) => refuse(round, "entry", pick),
  unsubscribe: (round, pick) => refuse(round, "link", pick),
};
const operation = fc.record({
  kind: fc.constantFrom(...Object.keys(OPERATIONS)),
  pick: fc.nat(10_000),
  /** Whether the next operation waits for the answer of this one. */
  isAwaited: fc.boolean(),
  restMs: fc.nat(150),
});
type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never;

async function ledgerOf({ model }: Round): Promise<LedgerRow[]> {
  const time = (column: string) => `(extract(epoch from s.${column}) * 1000)::float8`;
  const rows = await query(
    `select s.id, s.email_id, s.contact_id, s.chosen_contact_id, s.broadcast_id, s.address, s.state, r.content ->> 'subject' as subject,
       ${time("date_queued")} as queued_at, ${time("started_at")} as started_at
     from content.sends s left join content.email_revisions r on r.email_id = s.email_id and r.version = s.email_version
     where s.occasion = 'list' and s.email_id in (${model.emails.map(({ id }) => id).join(", ")})`,
  );
  return rows.map((row) => ({
    ...{
      id: row.id,
      emailId: row.email_id,
      contactId: row.contact_id,
      chosenContactId: row.chosen_contact_id,
    },
    ...{ broadcastId: row.broadcast_id, address: row.address, state: row.state, keptSubject: row.subject },
    ...{ queuedAt: row.queued_at, startedAt: row.started_at ?? undefined },
  }));
}

const COUNTED = ["queued", "deferred", "sending", "sent", "failed", "suppressed", "unknown", "cancelled"];
const byId = ([one]: readonly unknown[], [other]: readonly unknown[]) => Number(one) - Number(other);
const shownRow = ({
  id,
  address,
  state,
  contactId,
}: Pick<LedgerRow, "id" | "address" | "state" | "contactId">) => [id, address, state, contactId] as const;

/** Throws unless the API shows the rows of the ledger, and adds them up. */
async function assertShown({ model }: Round, rows: LedgerRow[], broadcasts: Any[]): Promise<void> {
  for (const shown of broadcasts) {
    const own = rows.filter(({ broadcastId }) => broadcastId === shown.id);
    assert.equal(shown.chosen, own.length);
    assert.deepEqual(
      COUNTED.map((state) => [state, shown[state]]),
      COUNTED.map((state) => [state, own.filter((row) => row.state === state).length]),
    );
    const wasCancelled = model.controls.get(shown.id)?.some(({ action }) => action === "cancel");
    assert.equal(shown.state, wasCancelled ? "cancelled" : "finished");
  }
  for (const { id } of model.emails) {
    const own = rows.filter(({ emailId }) => emailId === id);
    const { sends } = (await api("GET", `sends?emailId=${id}&limit=500`)).body as Any;
    assert.deepEqual(sends.map(shownRow).toSorted(byId), own.map(shownRow).toSorted(byId));
    const { email } = (await api("GET", `emails/${id}`)).body as Any;
    assert.equal(email.sentCount, own.filter(({ state }) => state === "sent").length);
  }
}

/** Throws unless the contact service knows each no, also that of a contact that was merged. */
async function assertRefused({ model }: Round): Promise<void> {
  for (const contact of model.contacts.filter(({ refused }) => refused.length > 0)) {
    const { id } = survivorOf(contact);
    const { doNotContact } = (await api("GET", `contacts/${id}`)).body.contact as Any;
    assert.equal(doNotContact.length, 1, `contact ${id}`);
  }
}

let rounds = 0;
async function assertRound(operations: Operation[]): Promise<void> {
  isWelcoming = true;
  const round = await startRound(stack, { name: `Round ${++rounds}:`, members: MEMBERS }, () => taken);
  isWelcoming = false;
  const underWay: unknown[] = [];
  send(round);
  for (const { kind, pick, isAwaited, restMs } of operations) {
    const done = OPERATIONS[kind]?.(round, pick);
    underWay.push(done);
    if (isAwaited) await done;
    await pause(restMs);
  }
  await Promise.all(underWay);
  const broadcasts = await settle(round);
  const mails = taken.filter(({ subject }) => subject.startsWith(`${round.name} `));
  // Rows of merged contacts move, and a no is passed on, after some time.
  await eventually(async () => {
    const rows = await ledgerOf(round);
    assertAllowed(round.model, rows, mails);
    await assertShown(round, rows, broadcasts);
    await assertRefused(round);
  }, PATIENCE);
}

test("whatever is done to an email while it is sent, in any order and at once, ledger and mails are those of a plain model", {
  timeout: ROUNDS * ROUND_MS_MAX,
}, async (t) => {
  t.diagnostic(`FAULT_SEED=${SEED} FAULT_ROUNDS=${ROUNDS}`);
  const operations = fc.array(operation, { minLength: 8, maxLength: 16, size: "max" });
  await fc.assert(fc.asyncProperty(operations, assertRound), {
    ...{ seed: SEED, numRuns: ROUNDS, endOnFailure: true },
  });
});
