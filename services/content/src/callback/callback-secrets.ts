import { type Check, problemOfBasic } from "./check.ts";
import type { Feedback } from "./feedback.ts";
import { genericCheck, readGeneric } from "./generic.ts";
import { mailgunCheck, readMailgun } from "./mailgun.ts";
import { postmarkCheck, readPostmark } from "./postmark.ts";
import { type CallbackOf, longSecret, type ProviderOf, readEntries } from "./read-entries.ts";
import { readSendgrid, sendgridCheck, sendgridKey } from "./sendgrid.ts";
import { readSes, sesCheck } from "./ses.ts";
import { topicOf } from "./sns.ts";
import { readSparkpost, sparkpostCheck } from "./sparkpost.ts";

const basic = (secret: string, check: (secret: string) => Check) => {
  const problem = problemOfBasic(secret);
  return problem ? { problem } : check(secret);
};

/** THE table of the providers whose callbacks are understood. */
const PROVIDERS = {
  generic: { read: readGeneric, checkOf: (secret) => longSecret(secret, genericCheck) },
  mailgun: { read: readMailgun, checkOf: (secret) => longSecret(secret, mailgunCheck) },
  postmark: { read: readPostmark, checkOf: (secret) => basic(secret, postmarkCheck) },
  sendgrid: {
    read: readSendgrid,
    checkOf(secret) {
      const key = sendgridKey(secret);
      return key ? sendgridCheck(key) : { problem: "needs a public key of ECDSA P-256, in base64" };
    },
  },
  ses: {
    read: readSes,
    checkOf(secret) {
      const topic = topicOf(secret);
      return topic ? sesCheck(topic) : { problem: "needs the ARN of a topic" };
    },
  },
  sparkpost: { read: readSparkpost, checkOf: (secret) => basic(secret, sparkpostCheck) },
} satisfies Record<string, ProviderOf<Feedback>>;

export type ProviderName = keyof typeof PROVIDERS;

/** A provider of mails whose callbacks are taken. */
export type Callback = CallbackOf<ProviderName, Feedback>;

/** Reads the entries of MAIL_CALLBACKS. */
export function readCallbacks(items: string[]): Callback[] | { problem: string } {
  return readEntries<ProviderName, Feedback>(PROVIDERS, items);
}
