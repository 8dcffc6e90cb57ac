import type { Email } from "@tidings/proto/tidings/content/v1/email";
import { compileHtml } from "@tidings/rendering/compile-template";
import { TemplateError } from "@tidings/rendering/template-error";
import { jsonBytes, jsonOf, notValid } from "@tidings/resource/json-member";
import type { Violation } from "@tidings/rpc/fault";
import { shownHtml } from "../send/mail-template.ts";
import { type MailTexts, mailTexts, mendTexts, tokenNames } from "../send/mail-texts.ts";
import { type MailWarning, onceEach, unreadWarnings } from "../send/mail-warnings.ts";

type Member = keyof MailTexts;

/** A member of an email that was read as a template. */
interface ReadMember {
  warnings: MailWarning[];
  /** Why no mail could be written of it. */
  problem: string | undefined;
}

/** Members by their name and their value. */
export type ReadMembers = ReadonlyMap<Member, ReadonlyMap<string, ReadMember>>;

const MEMBERS: Member[] = [
  ...(["subject", "customHtml", "preheaderText", "plainText"] as const),
  ...(["fromAddress", "fromName", "headers", "dynamicContent"] as const),
];
const NAMES = tokenNames([]);
/** A preheader is one element, whatever its text is. */
const ANY_PREHEADER = "x";

/** Reads the members of emails that may have tokens, as they were sent. */
export async function readMembers(emails: (Email | undefined)[]): Promise<ReadMembers> {
  const read = new Map<Member, Map<string, ReadMember>>();
  for (const member of MEMBERS)
    for (const email of emails) {
      const value = email && textIn(email, member);
      if (value === undefined) continue;
      const byValue = read.get(member) ?? new Map<string, ReadMember>();
      read.set(member, byValue);
      if (!byValue.has(value)) byValue.set(value, await readMember(member, value));
    }
  return read;
}

/**
 * The violations of members that no mail could be written of. Keeps in the draft, in place, which of its tokens cannot be read; a member that was not sent has the
 * warnings of before.
 */
export function checkTexts(draft: Email, before: Email | undefined, read: ReadMembers): Violation[] {
  const kept = jsonOf(before?.warnings) as MailWarning[];
  const violations: Violation[] = [];
  const warnings = MEMBERS.flatMap((member) => {
    const value = textIn(draft, member);
    const found = value === undefined ? undefined : read.get(member)?.get(value);
    if (found?.problem) violations.push(notValid(member, found.problem));
    const isUnchanged = value !== undefined && before !== undefined && value === textIn(before, member);
    return found?.warnings ?? (isUnchanged ? kept.filter(({ message }) => isOf(message, member)) : []);
  });
  draft.warnings = jsonBytes(onceEach(warnings));
  return violations;
}

function isOf(message: string, member: Member): boolean {
  return message.startsWith(`${member}: `);
}

/** The value of a member as a text; undefined for an empty one. */
function textIn(email: Email, member: Member): string | undefined {
  const value = email[member];
  return (typeof value === "string" ? value : Buffer.from(value ?? []).toString()) || undefined;
}

async function readMember(member: Member, value: string): Promise<ReadMember> {
  const isJson = member === "headers" || member === "dynamicContent";
  const nothing = { ...NOTHING, [member]: isJson ? jsonOf(Buffer.from(value)) : value };
  const { texts, unread } = await mendTexts(mailTexts(nothing), NAMES);
  const problem = await problemIn(texts).catch((error) => {
    if (error instanceof TemplateError) return error.message;
    throw error;
  });
  return { warnings: unreadWarnings(unread), problem };
}

const NOTHING = {
  ...{ subject: "", customHtml: null, preheaderText: null, plainText: null },
  ...{ fromAddress: null, fromName: null, headers: [], dynamicContent: [] },
};

/** Compiles HTML as a mail has it. Throws TemplateError for too many elements. */
async function problemIn({ customHtml, dynamicContent }: MailTexts): Promise<undefined> {
  if (customHtml !== undefined) await compileHtml(shownHtml(customHtml, ANY_PREHEADER, true), NAMES);
  for (const { content, versions } of dynamicContent)
    for (const html of [content, ...versions.map((version) => version.content)])
      await compileHtml(html, NAMES);
}
