import { backgroundDeadline, type Database, prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import { jobsOf } from "@tidings/jobs/jobs";
import type { JobOptions } from "@tidings/jobs/run-jobs";
import { ContactCommandService } from "@tidings/proto/tidings/contact/v1/command";
import { serviceActor } from "@tidings/rpc/actor";
import type { Log } from "@tidings/runtime/log";
import type { Upstreams } from "@tidings/service/upstreams";
import { keepRefusals, type Refusal, RefusalReason } from "../send/refusals.ts";
import { e164 } from "../text/phone-number.ts";

/** Somebody at a number wants no text messages, or wants them again. */
export interface NumberConsent extends Record<string, unknown> {
  asked: "stop" | "start";
  number: string;
  /** The text message that was answered, where there is one. */
  channelId: number | undefined;
  at: number;
  /** Contacts of the number that have heard already. */
  known: number[];
}

const bouncedStatement = prepared(
  "send_refusals_bounced",
  `select contact_id from send_refusals where channel = 'sms' and contact_id = any ($1::integer[]) and reason = ${RefusalReason.BOUNCED}`,
);
const jobs = jobsOf("number_consent");
const actor = serviceActor("Replies");

/** The change of a contact that follows. */
export function consentOf({ asked, channelId }: NumberConsent, contactId: number): Refusal {
  const refusal = { contactId, channel: "sms" as const, channelId };
  return asked === "stop"
    ? { ...refusal, reason: RefusalReason.UNSUBSCRIBED, comments: "User unsubscribed by text message." }
    : { ...refusal, reason: RefusalReason.NONE, comments: "", isOwnOnly: true };
}

/** Plans that all contacts of numbers are changed. The latest word of a number replaces an earlier one. */
export function followConsents(transaction: Transaction, consents: NumberConsent[]): void {
  const last = new Map(consents.map((consent) => [consent.number, consent]));
  jobs.add(
    transaction,
    [...last].map(([key, payload]) => ({ key, payload })),
  );
}

/** Finds the contacts of numbers that said something, and changes those that have not heard. While the contact service is away they wait. */
export function numberConsentJobs(
  database: Database,
  log: Log,
  { upstreams, country }: { upstreams: Upstreams; country: string },
): JobOptions {
  const contacts = upstreams.client("contact", ContactCommandService);
  return {
    database,
    log,
    jobs,
    async prepare(job) {
      const { number, known } = job.payload as NumberConsent;
      const outgoing = { actor, deadlineMs: backgroundDeadline(), requestId: "" };
      const found = await contacts.findContactsByNumber({ number }, outgoing);
      const ids = found.contacts
        .filter(({ numbers }) => numbers.some((one) => e164(one, country) === number))
        .map(({ contactId }) => contactId)
        .filter((id) => !known.includes(id));
      return { ...job, payload: { ...job.payload, ids } };
    },
    async work(transaction, { payload }) {
      const { ids, ...consent } = payload as NumberConsent & { ids: number[] };
      const refusals = ids.map((id) => consentOf(consent as NumberConsent, id));
      await keepRefusals(transaction, await withoutBounced(transaction, refusals));
      return { state: "done" };
    },
  };
}

/** Somebody who wants messages again has no say in whether their number is there. */
export async function withoutBounced(transaction: Transaction, refusals: Refusal[]): Promise<Refusal[]> {
  const ids = refusals
    .filter(({ reason }) => reason === RefusalReason.NONE)
    .map(({ contactId }) => contactId);
  if (ids.length === 0) return refusals;
  const rows = await transaction.query(bouncedStatement, [ids]);
  const bounced = new Set(rows.map(({ contact_id }) => Number(contact_id)));
  return refusals.filter(({ reason, contactId }) => reason !== RefusalReason.NONE || !bounced.has(contactId));
}
