import PostalMime, { addressParser, type Email } from "postal-mime";
import { type FieldGroup, readFieldGroups } from "./report-fields.ts";

/** The outcome for one recipient in a delivery status notification (RFC 3464, 2.3). */
export interface DeliveryStatus {
  /** The address that the mail was sent to; empty where the report does not say. */
  address: string;
  action: "failed" | "delayed" | "delivered" | "relayed" | "expanded";
  /** The enhanced status code (RFC 3463), and the words of the recipient's mail server. */
  status: string;
  diagnostic: string;
}

/** A mail that came into an inbox. */
export type ReturnedMail = {
  /** Without angle brackets; empty for a mail without one. */
  messageId: string;
  /** The addresses that the mail may have been delivered to. */
  recipients: string[];
  /** The Message-IDs of mails that this one answers, the nearest first. */
  answered: string[];
} & (
  | { kind: "delivery status"; statuses: DeliveryStatus[]; original: OriginalMail }
  /** Somebody, or a provider, reports a mail (RFC 5965): `abuse`, `fraud`, `opt-out`, … */
  | { kind: "feedback"; type: string; original: OriginalMail }
  | { kind: "unsubscribe" }
  /** A machine answers: no person has read it yet. */
  | { kind: "automatic" }
  | { kind: "personal" }
);

/** Parts of the mail that a report is about. */
export interface OriginalMail {
  /** The sender of its envelope; empty where the report does not say. */
  sender: string;
  /** The fields of its header by their names in lower case, the first of each name. */
  header: ReadonlyMap<string, string>;
}

const NESTING_MAX = 20;
const ADDRESSES_MAX = 20;
const REFERENCES_MAX = 50;
/** Recipients of one mail that one report is about. */
const STATUSES_MAX = 100;
/** Fields by which servers say where a mail was delivered to, beside the one of its author. */
const DELIVERED_TO = [
  "delivered-to",
  "x-original-to",
  "envelope-to",
  "x-envelope-to",
  "x-delivered-to",
  "to",
];
const ACTIONS = ["failed", "delayed", "delivered", "relayed", "expanded"] as const;
const STATUS_PARTS = ["message/delivery-status", "message/global-delivery-status"];
const HEADER_PARTS = ["text/rfc822-headers", "message/global-headers", "message/rfc822", "message/global"];

/** No mail, or a report without its parts. */
export class MailUnreadable extends Error {
  override name = "MailUnreadable";
}

/**
 * Reads a mail by its header, and by its parts where it is a report. Rejects with MailUnreadable. Texts that say in words that a mail was not
 * delivered are not guessed: they are answers of machines.
 */
export async function readReturnedMail(octets: Buffer): Promise<ReturnedMail> {
  const header = headerOf(await parsed(octets.subarray(0, endOfHeader(octets))));
  if (header.all.length === 0) throw new MailUnreadable("the mail has no header");
  const messageId = bare(header.first("message-id"));
  const recipients = DELIVERED_TO.flatMap((name) => header.every(name).flatMap(addressesIn));
  const answered = [
    ...idsIn(header.first("in-reply-to")),
    ...idsIn(header.first("references")).reverse(),
  ].slice(0, REFERENCES_MAX);
  const mail = { messageId, recipients: recipients.slice(0, ADDRESSES_MAX), answered };
  switch (reportType(header.first("content-type"))) {
    case "delivery-status":
      return { ...mail, ...deliveryStatusOf(await parsed(octets)) };
    case "feedback-report":
      return { ...mail, ...feedbackOf(await parsed(octets)) };
    default:
      return { ...mail, kind: kindOf(header) };
  }
}

interface Header {
  all: Email["headers"];
  first(name: string): string;
  every(name: string): string[];
}

/** Printable characters but a colon (RFC 5322, 3.6.8). */
const FIELD_NAME = /^[!-9;-~]+$/;

function headerOf(email: Email): Header {
  const headers = email.headers.filter(({ key }) => FIELD_NAME.test(key));
  const every = (name: string) => headers.flatMap(({ key, value }) => (key === name ? value : []));
  return { all: headers, every, first: (name) => every(name)[0]?.trim() ?? "" };
}

async function parsed(octets: Buffer): Promise<Email> {
  try {
    return await PostalMime.parse(octets, { maxNestingDepth: NESTING_MAX, maxRfc822NestingDepth: 0 });
  } catch (error) {
    throw new MailUnreadable("the mail cannot be parsed", { cause: error });
  }
}

function endOfHeader(octets: Buffer): number {
  const ends = ["\r\n\r\n", "\n\n"].map((end) => octets.indexOf(end)).filter((at) => at >= 0);
  return ends.length > 0 ? Math.min(...ends) + 2 : octets.length;
}

/** The type of a multipart/report (RFC 6522, 3); undefined for any other mail. */
function reportType(contentType: string): string | undefined {
  if (!/^multipart\/report\s*;/i.test(contentType)) return undefined;
  const [, type] = /;\s*report-type\s*=\s*"?([a-z-]{1,40})"?/i.exec(contentType) ?? [];
  return type?.toLowerCase();
}

function deliveryStatusOf(
  email: Email,
): Pick<ReturnedMail & { kind: "delivery status" }, "kind" | "statuses" | "original"> {
  const [mail, ...recipients] = fieldsIn(email, STATUS_PARTS);
  const statuses = recipients.slice(0, STATUSES_MAX).flatMap(statusOf);
  if (!mail || statuses.length === 0) throw new MailUnreadable("the report has no status of a recipient");
  return { kind: "delivery status", statuses, original: originalOf(email, "") };
}

function statusOf(fields: FieldGroup): DeliveryStatus[] {
  const action = ACTIONS.find((known) => known === fields.get("action")?.toLowerCase());
  if (!action) return [];
  const [, status = ""] = /^(\d\.\d{1,3}\.\d{1,3})\b/.exec(fields.get("status") ?? "") ?? [];
  const address = fields.get("original-recipient") ?? fields.get("final-recipient") ?? "";
  return [
    {
      ...{ action, status },
      address: addressesIn(untyped(address))[0] ?? "",
      diagnostic: untyped(fields.get("diagnostic-code") ?? ""),
    },
  ];
}

function feedbackOf(email: Email): Pick<ReturnedMail & { kind: "feedback" }, "kind" | "type" | "original"> {
  const [fields] = fieldsIn(email, ["message/feedback-report"]);
  const type = fields?.get("feedback-type");
  if (!fields || !type) throw new MailUnreadable("the report has no type of feedback");
  const sender = addressesIn(fields.get("original-mail-from") ?? "")[0] ?? "";
  return { kind: "feedback", type: type.toLowerCase(), original: originalOf(email, sender) };
}

function originalOf({ attachments }: Email, sender: string): OriginalMail {
  const part = attachments.find(({ mimeType }) => HEADER_PARTS.includes(mimeType));
  const header = (part && readFieldGroups(octetsOf(part.content))[0]) ?? new Map<string, string>();
  return { header, sender: sender || (addressesIn(header.get("return-path") ?? "")[0] ?? "") };
}

function fieldsIn({ attachments }: Email, types: string[]): FieldGroup[] {
  const part = attachments.find(({ mimeType }) => types.includes(mimeType));
  return part ? readFieldGroups(octetsOf(part.content)) : [];
}

function octetsOf(content: ArrayBuffer | Uint8Array | string): Buffer {
  return typeof content === "string"
    ? Buffer.from(content)
    : content instanceof Uint8Array
      ? Buffer.from(content.buffer, content.byteOffset, content.byteLength)
      : Buffer.from(content);
}

/**
 * A mail with the subject that `mailto:` links of List-Unsubscribe name (RFC 2369, 3.2) unsubscribes. RFC 3834, 5 says by which fields machines are
 * known that answer; those with other ones are older.
 */
function kindOf(header: Header): "unsubscribe" | "automatic" | "personal" {
  const submitted = header.first("auto-submitted").toLowerCase();
  const isAnswer = /^auto-(?:replied|notified)\b/.test(submitted) || header.first("return-path") === "<>";
  if (!isAnswer && header.first("subject").toLowerCase() === "unsubscribe") return "unsubscribe";
  const isAutomatic =
    isAnswer ||
    (submitted !== "" && !/^no\b/.test(submitted)) ||
    /^(?:bulk|junk|list|auto[-_]reply)$/i.test(header.first("precedence")) ||
    /^(?:all|.*\b(?:oof|autoreply)\b)/i.test(header.first("x-auto-response-suppress")) ||
    ["x-autoreply", "x-autorespond", "x-failed-recipients", "list-id"].some(
      (name) => header.first(name) !== "",
    ) ||
    /^\s*"?mailer-daemon\b|<mailer-daemon@/i.test(header.first("from"));
  return isAutomatic ? "automatic" : "personal";
}

function idsIn(text: string): string[] {
  return [...text.matchAll(/<([^<>\s]{1,250})>/g)].slice(-REFERENCES_MAX).flatMap(([, id]) => id ?? []);
}

function bare(id: string): string {
  return idsIn(id)[0] ?? "";
}

/** The value behind the type of an address or a code: `rfc822; ada@example.org`. */
function untyped(value: string): string {
  return value.replace(/^[\w.-]{1,40}\s*;\s*/, "");
}

/** A source route or a display name is no part of an address. */
function addressesIn(text: string): string[] {
  if (text.length > 2_000) return [];
  return addressParser(text, { flatten: true })
    .slice(0, ADDRESSES_MAX)
    .flatMap((mailbox) => (mailbox.address?.includes("@") ? mailbox.address : []));
}
