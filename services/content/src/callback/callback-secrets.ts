import { type Check, problemOfBasic, SECRET_LENGTH_MIN } from "./check.ts";
import type { ReadItem } from "./feedback.ts";
import { genericCheck, readGeneric } from "./generic.ts";
import { mailgunCheck, readMailgun } from "./mailgun.ts";
import { postmarkCheck, readPostmark } from "./postmark.ts";
import { readSendgrid, sendgridCheck, sendgridKey } from "./sendgrid.ts";
import { readSes, sesCheck } from "./ses.ts";
import { topicOf } from "./sns.ts";
import { readSparkpost, sparkpostCheck } from "./sparkpost.ts";

interface Provider {
  read: ReadItem;
  /** The check of a callback by the secret that an operator sets. */
  checkOf(secret: string): Check | { problem: string };
}

const longSecret = (secret: string, check: (secret: string) => Check) =>
  secret.length < SECRET_LENGTH_MIN
    ? { problem: `needs a secret of at least ${SECRET_LENGTH_MIN} characters` }
    : check(secret);
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
} satisfies Record<string, Provider>;

export type ProviderName = keyof typeof PROVIDERS;

/** A provider whose callbacks are taken. While a secret is replaced there are two checks: one of them has to pass. */
export interface Callback {
  name: ProviderName;
  read: ReadItem;
  checks: Check[];
}

/**
 * Reads entries written as `name:secret`; several of one name hold side by side. The text that says what is wrong names nothing of a
 * secret.
 */
export function readCallbacks(items: string[]): Callback[] | { problem: string } {
  const callbacks = new Map<ProviderName, Callback>();
  for (const [index, item] of items.entries()) {
    const colon = item.indexOf(":");
    const name = item.slice(0, Math.max(colon, 0));
    if (!isProvider(name))
      return {
        problem: `entry ${index + 1} is not written as name:secret with a name of ${NAMES.join(", ")}`,
      };
    const { read, checkOf } = PROVIDERS[name];
    const check = checkOf(item.slice(colon + 1));
    if ("problem" in check) return { problem: `entry ${index + 1} (${name}) ${check.problem}` };
    const callback = callbacks.get(name) ?? { name, read, checks: [] };
    callback.checks.push(check);
    callbacks.set(name, callback);
  }
  return [...callbacks.values()];
}

const NAMES = Object.keys(PROVIDERS);

function isProvider(name: string): name is ProviderName {
  return Object.hasOwn(PROVIDERS, name);
}
