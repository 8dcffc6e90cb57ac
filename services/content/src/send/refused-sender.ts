import type { HandOver } from "@tidings/mail/mail-transport";

type Refused = Extract<HandOver, { state: "refused" }>;

/** Sign-in and encryption are asked for (RFC 4954, 6; RFC 3207, 4). */
const SIGN_IN_CODES: ReadonlySet<number> = new Set([530, 534, 535, 538]);
/**
 * Enhanced codes about whoever sends: its address (5.1.7, 5.1.8; RFC 3463, 3.2), its limit of mails (5.4.5 of Google), its sign-in and account (5.7.8, 5.7.9, 5.7.13, 5.7.14;
 * RFC 4954, 5248), and those of Exchange for senders, tenants and their domains (5.7.57, 5.7.60, 5.7.7xx).
 */
const SENDER_STATUS = /^[45]\.(?:1\.[78]|4\.5|7\.(?:8|9|13|14|57|60|7\d\d))\b/;
/** Servers refuse recipients and senders with 554 and 5.7.1 alike, so their words decide. Postfix refuses a sender at the first recipient. */
const SENDER_WORDS = [
  /sender address rejected/i,
  /\bto send (?:as|from|on behalf)\b/i,
  /(?:address|domain|identit(?:y|ies)) (?:is|are) not verified/i,
  /relay(?:ing)? (?:access )?denied|unable to relay/i,
  /\b(?:sending|message) (?:limit|quota)\b/i,
  /\baccount (?:is |has been )?(?:suspended|disabled|blocked)/i,
];
/** About the mailbox of the recipient (RFC 3463, 3.2 and 3.3), whatever else is said. */
const RECIPIENT_STATUS = /^[45]\.(?:1\.[0-6]|1\.10|2\.\d)\b/;

/** True when a server refused the sender, its credentials or its quota, whatever command it answered: then it refuses the mails of all recipients. */
export function isSenderRefused({ by, code, text }: Refused): boolean {
  if (by === "sender" || SIGN_IN_CODES.has(code) || SENDER_STATUS.test(text)) return true;
  return !RECIPIENT_STATUS.test(text) && SENDER_WORDS.some((words) => words.test(text));
}
