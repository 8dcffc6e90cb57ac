import type { MailTemplate } from "./mail-template.ts";
import type { UnreadInMember } from "./mail-texts.ts";

/** Something that readers of a mail, or their programs, would not like. */
export interface MailWarning {
  code:
    | ("unknown_token" | "unclosed_token" | "unknown_field" | "unknown_content" | "not_written")
    | ("no_unsubscribe" | "clipped" | "image_without_alt" | "empty_link" | "dead_link" | "malformed_sender");
  message: string;
}

const SHOWN_MAX = 20;
const REASONS = {
  unknown: "no token that has a value here. Its default, or nothing, stands in its place",
  unclosed: "a token without a closing brace. Its default, or nothing, stands in its place",
};

export function warning(code: MailWarning["code"], message: string): MailWarning {
  return { code, message };
}

/** Warnings about tokens that cannot be read, each with the member that it stands in. */
export function unreadWarnings(unread: UnreadInMember[]): MailWarning[] {
  const warnings = unread.map(({ member, text, reason }) =>
    warning(`${reason}_token`, `${member}: ${text} is ${REASONS[reason]}.`),
  );
  return onceEach(warnings);
}

/**
 * Warnings about what a template asks for and nobody knows: tokens, fields of contacts, and dynamic contents. Without known fields none of them is called
 * unknown.
 */
export function templateWarnings(
  { unread, contactFields, tokens, contents }: MailTemplate,
  knownFields: ReadonlySet<string>,
): MailWarning[] {
  const fields = knownFields.size > 0 ? contactFields.filter((alias) => !isField(alias, knownFields)) : [];
  const missing = tokens.flatMap(({ name, argument = "" }) =>
    name === "dynamiccontent" && !contents.has(argument) ? [argument] : [],
  );
  return onceEach([
    ...unreadWarnings(unread),
    ...fields.map((alias) =>
      warning("unknown_field", `{contactfield=${alias}}: contacts have no field of this name.`),
    ),
    ...missing.map((name) =>
      warning("unknown_content", `{dynamiccontent="${name}"}: the email has no content of this name.`),
    ),
  ]);
}

/** Columns of contacts that are no fields (`readContactFields` of the contact service). */
const COLUMNS = new Set(["id", "owner_id", "stage_id", "date_added", "date_identified"]);

function isField(alias: string, fields: ReadonlySet<string>): boolean {
  return fields.has(alias) || COLUMNS.has(alias);
}

/** The first 20, each once. */
export function onceEach(warnings: MailWarning[]): MailWarning[] {
  return [...new Map(warnings.map((one) => [one.message, one])).values()].slice(0, SHOWN_MAX);
}
