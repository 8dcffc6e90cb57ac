import { type Database, prepared } from "@tidings/database/database";
import { wireAddress } from "@tidings/mail/mail-address";
import { isOpen } from "../family/is-open.ts";
import type { KnownContacts } from "../visit/known-contact.ts";
import type { AskContactable } from "./contactable.ts";
import { FAMILY_OF } from "./email-family.ts";
import { SendState } from "./send-tables.ts";

/** A condition for a mail, and whether it holds for a contact. */
export interface SendRule {
  rule: "published" | "segment_email" | "member" | "not_excluded" | "address" | "allowed" | "once";
  holds: boolean;
  /** Since when, where that is known: ISO 8601. */
  since: string | null;
  /** Why it does not hold; empty where it does. */
  detail: string;
}

export interface Explanation {
  verdict: "sent" | "will" | "wont" | "unknown";
  rules: SendRule[];
}

export interface ExplainOptions {
  database: Database;
  contacts: KnownContacts;
  askContactable: AskContactable;
}

const emailStatement = prepared(
  "emails_explain",
  `select e.email_type, e.lists, e.excluded_lists, ${isOpen("e")} as is_open, to_json(e.publish_up) #>> '{}' as since, ${FAMILY_OF} as family_id
   from emails e where e.id = $1`,
);
const sendStatement = prepared(
  "sends_explain",
  `select state, coalesce(reason, '') as reason, to_json(coalesce(date_sent, date_queued)) #>> '{}' as since from sends
   where family_id = $1::integer and contact_id = $2::integer and occasion = 'list' order by id desc limit 1`,
);
const VERDICTS: Record<string, Explanation["verdict"]> = {
  [SendState.SENT]: "sent",
  [SendState.UNKNOWN]: "unknown",
  [SendState.WAITING]: "will",
  [SendState.STARTED]: "will",
};

/**
 * Why a contact got, will get or does not get a segment email with the next send, with each rule and whether it holds; undefined for an email that is
 * gone. Throws while the contact service is away.
 */
export async function explainSend(
  { database, contacts, askContactable }: ExplainOptions,
  { emailId, contactId }: { emailId: number; contactId: number },
  deadlineMs: number,
): Promise<Explanation | undefined> {
  const [email] = await database.query(emailStatement, [emailId], deadlineMs);
  if (!email) return undefined;
  const [[send], fields, { refusal }] = await Promise.all([
    database.query(sendStatement, [email.family_id, contactId], deadlineMs),
    contacts.fieldsOf(contactId, ["email", "segment_ids"]),
    askContactable("email", contactId, emailId),
  ]);
  const address = fields.get("email") ?? "";
  const memberOf: number[] = JSON.parse(fields.get("segment_ids") || "[]");
  const isMemberOfAny = (lists: string | null | undefined) =>
    (JSON.parse(lists ?? "[]") as number[]).some((id) => memberOf.includes(id));
  const rule = (
    name: SendRule["rule"],
    holds: boolean,
    detail: string,
    since: string | null = null,
  ): SendRule => ({
    rule: name,
    holds,
    since,
    detail: holds ? "" : detail,
  });
  const rules = [
    rule("published", email.is_open === "t", "The email is not published now.", email.since ?? null),
    rule("segment_email", email.email_type === "list", "The email goes to single contacts."),
    rule("member", isMemberOfAny(email.lists), "The contact is in none of the email's segments."),
    rule(
      "not_excluded",
      !isMemberOfAny(email.excluded_lists),
      "The contact is in a segment that the email leaves out.",
    ),
    rule(
      "address",
      wireAddress(address) !== undefined,
      address === "" ? "The contact has no email address." : "The email address is malformed.",
    ),
    rule("allowed", refusal === "", refusal),
    rule(
      "once",
      send === undefined,
      `A mail of the email, its variants or translations is there: ${send?.state}. ${send?.reason}`.trim(),
      send?.since ?? null,
    ),
  ];
  const isAll = rules.every(({ holds }) => holds);
  return { verdict: (send && VERDICTS[send.state ?? ""]) ?? (isAll ? "will" : "wont"), rules };
}
