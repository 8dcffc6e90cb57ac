import type { InboxAway } from "@tidings/mail/imap-mailbox";
import { Counter } from "prom-client";
import { beginCountingFeedback } from "../callback/callback-metrics.ts";
import { MAIL_KINDS, type MailKind, SET_ASIDE_REASONS, type SetAsideReason } from "./inbox-feedback.ts";

/** The name of the inbox among the providers of feedback. */
export const INBOX = "inbox";

const mails = new Counter({
  name: "tidings_inbox_mails_total",
  help: "Mails that were read in the inbox; `report`: of bounces, deliveries and complaints, `unsubscribe`, `reply`, `automatic`: answers of machines, `unsigned`: reports that name no send of ours, or have no right signature, `other`",
  labelNames: ["kind"],
});
const setAside = new Counter({
  name: "tidings_inbox_set_aside_total",
  help: "Mails of the inbox that were flagged for somebody to look at; `unreadable`: no mail, or a report without its parts, `stale`: older than events are remembered, `failed`: could not be recorded",
  labelNames: ["reason"],
});
const polls = new Counter({
  name: "tidings_inbox_polls_total",
  help: "Polls of the inbox; `read`: it was read, `unreachable`, `sign-in`: refused, `folder`: missing, or takes no flags",
  labelNames: ["outcome"],
});

type PollOutcome = "read" | InboxAway["reason"];

const OUTCOMES: PollOutcome[] = ["read", "unreachable", "sign-in", "folder"];

/** Counts from zero on: a rate needs a sample from before the first mail. */
export function beginCountingInbox(): void {
  beginCountingFeedback(INBOX);
  for (const kind of MAIL_KINDS) mails.inc({ kind }, 0);
  for (const reason of SET_ASIDE_REASONS) setAside.inc({ reason }, 0);
  for (const outcome of OUTCOMES) polls.inc({ outcome }, 0);
}

export function noteMail(kind: MailKind): void {
  mails.inc({ kind });
}

export function noteSetAside(reason: SetAsideReason): void {
  setAside.inc({ reason });
}

export function noteLook(outcome: PollOutcome): void {
  polls.inc({ outcome });
}
