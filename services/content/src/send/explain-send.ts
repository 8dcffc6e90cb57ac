import { timestampDate } from "@bufbuild/protobuf/wkt";
import { type Database, prepared } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import { wireAddress } from "@tidings/mail/mail-address";
import { idsByFate } from "@tidings/projection/contact-fates";
import { isoSeconds } from "@tidings/runtime/iso-seconds";
import { isOpen } from "../family/is-open.ts";
import type { KnownContacts } from "../visit/known-contact.ts";
import { type AskContactable, LIMITS } from "./contactable.ts";
import { FAMILY_OF } from "./email-family.ts";
import { LIST, SendState } from "./send-tables.ts";

/** A condition for a mail, and whether it holds for a contact. */
export interface SendRule {
  rule:
    | ("published" | "segment_email" | "member" | "not_excluded" | "address")
    | ("do_not_contact" | "suppression" | "category" | "pause" | "frequency")
    | ("once" | "other_occasion");
  holds: boolean;
  /** Since when, where that is known: ISO 8601. */
  since: string | null;
  /** Why it does not hold; empty where it does. Of `other_occasion` the mail that there is. */
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

const time = (sql: string) => `to_json(date_trunc('second', ${sql})) #>> '{}'`;
const emailStatement = prepared(
  "emails_explain",
  `select e.email_type, e.lists, e.excluded_lists, ${isOpen("e")} as is_open, ${time("e.publish_up")} as since, ${FAMILY_OF} as family_id,
     (select ${time("min(r.date_added)")} from send_refusals r where r.channel = 'email' and r.contact_id in ${idsByFate("$2::integer")}) as refused_since
   from emails e where e.id = $1`,
);
const sendOf = (condition: string) =>
  `(select occasion, contact_id, state, coalesce(reason, '') as reason, ${time("coalesce(date_sent, date_queued)")} as since
    from sends where ${condition} order by id desc limit 1)`;
/** The mail to segments that the contact has, or one that was merged into it, or its address; and its latest one of another occasion. */
const sendsStatement = prepared(
  "sends_explain",
  `${sendOf(`contact_id = $2::integer and family_id = $1::integer and occasion = '${LIST}'`)}
   union all ${sendOf(`family_id = $1::integer and chosen_contact_id = $2::integer and occasion = '${LIST}'`)}
   union all ${sendOf(`family_id = $1::integer and lower(address) = lower($3) and occasion = '${LIST}'`)}
   union all ${sendOf(`contact_id = $2::integer and family_id = $1::integer and occasion <> '${LIST}'`)}`,
);
const VERDICTS: Record<string, Explanation["verdict"]> = {
  [SendState.SENT]: "sent",
  [SendState.UNKNOWN]: "unknown",
  [SendState.WAITING]: "will",
  [SendState.STARTED]: "will",
};
/** The rule that each refusal of the contact service breaks, in the order in which it answers one of them. */
const RULE_OF: Record<string, SendRule["rule"]> = {
  ...{
    not_found: "do_not_contact",
    unsubscribed: "do_not_contact",
    bounced: "do_not_contact",
    manual: "do_not_contact",
  },
  ...{ suppressed: "suppression", category: "category", paused: "pause", frequency: "frequency" },
};
/** Refusals that have a beginning: the choice of categories and the count of messages have none. */
const SINCE_KNOWN: ReadonlySet<string> = new Set([
  "unsubscribed",
  "bounced",
  "manual",
  "suppressed",
  "paused",
]);
const REFUSABLE = [...new Set(Object.values(RULE_OF))];

function rule(name: SendRule["rule"], holds: boolean, detail: string, since: string | null = null): SendRule {
  return { rule: name, holds, since, detail: holds ? "" : detail };
}

/**
 * Why a contact got, will get or does not get an email, with each rule of a send to segments and whether it holds; undefined for an email that is gone. A pause
 * and a frequency rule put a mail off: the contact gets it later. Throws while the contact service is away.
 */
export async function explainSend(
  { database, contacts, askContactable }: ExplainOptions,
  { emailId, contactId }: { emailId: number; contactId: number },
  deadlineMs: number,
): Promise<Explanation | undefined> {
  const [[email], fields, { refusal, since }] = await Promise.all([
    database.query(emailStatement, [emailId, contactId], deadlineMs),
    contacts.fieldsOf(contactId, ["email", "segment_ids"]),
    askContactable("email", contactId, emailId),
  ]);
  if (!email) return undefined;
  const address = fields.get("email") ?? "";
  const sends = await database.query(sendsStatement, [email.family_id, contactId, address], deadlineMs);
  const listed = sends.find(({ occasion }) => occasion === LIST);
  const other = sends.find(({ occasion }) => occasion !== LIST);
  const rules = [
    ...rulesOfEmail(email, fields),
    ...rulesOfRefusal(refusal, email.refused_since ?? (since ? isoSeconds(timestampDate(since)) : null)),
    ruleOfOnce(listed, contactId),
  ];
  const isAll = rules.every((one) => one.holds || one.rule === "pause" || one.rule === "frequency");
  const isOwn = Number(listed?.contact_id) === contactId;
  const verdict =
    (isOwn && VERDICTS[listed?.state ?? ""]) || (isAll ? "will" : VERDICTS[other?.state ?? ""]) || "wont";
  if (other) rules.push({ ...rule("other_occasion", true, "", other.since), detail: mailOf(other) });
  return { verdict, rules };
}

function rulesOfEmail(email: Row, fields: ReadonlyMap<string, string>): SendRule[] {
  const memberOf: number[] = JSON.parse(fields.get("segment_ids") || "[]");
  const isMemberOfAny = (lists: string | null | undefined) =>
    (JSON.parse(lists ?? "[]") as number[]).some((id) => memberOf.includes(id));
  const address = fields.get("email") ?? "";
  const noAddress = address === "" ? "The contact has no email address." : "The email address is malformed.";
  return [
    rule("published", email.is_open === "t", "The email is not published now.", email.since ?? null),
    rule("segment_email", email.email_type === "list", "The email goes to single contacts."),
    rule("member", isMemberOfAny(email.lists), "The contact is in none of the email's segments."),
    rule(
      "not_excluded",
      !isMemberOfAny(email.excluded_lists),
      "The contact is in a segment that the email leaves out.",
    ),
    rule("address", wireAddress(address) !== undefined, noAddress),
  ];
}

/** A no hides what is asked for after it: of rules behind the one that is broken nothing is said. */
function rulesOfRefusal(refusal: string, refusedSince: string | null): SendRule[] {
  const broken = RULE_OF[refusal];
  const said = broken ? REFUSABLE.slice(0, REFUSABLE.indexOf(broken) + 1) : REFUSABLE;
  return said.map((name) =>
    rule(
      name,
      name !== broken,
      LIMITS.has(refusal) ? `${refusal}: the mail is put off.` : refusal,
      name === broken && SINCE_KNOWN.has(refusal) ? refusedSince : null,
    ),
  );
}

function ruleOfOnce(listed: Row | undefined, contactId: number): SendRule {
  if (!listed) return rule("once", true, "");
  const isOwn = Number(listed.contact_id) === contactId;
  const detail = isOwn
    ? `A mail of the email, its variants or translations is there: ${mailOf(listed)}`
    : "Another contact with the same address has a mail of the email, its variants or translations.";
  return rule("once", false, detail, listed.since ?? null);
}

function mailOf({ occasion, state, reason }: Row): string {
  return `${occasion === LIST ? "" : `${occasion}: `}${state}. ${reason}`.trim();
}
