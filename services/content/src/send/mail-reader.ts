import { type MatchedContact, matches } from "@tidings/filters/matches";
import type { KnownContacts } from "../visit/known-contact.ts";
import type { EmailRevision } from "./email-revision.ts";
import type { LinkedSend } from "./mail-links.ts";
import type { DynamicContent, MailTemplate } from "./mail-template.ts";
import type { Owner, Owners } from "./owners.ts";

/** The reader whom a mail is written for. */
export interface Reader {
  send: LinkedSend;
  /** Values of fields by alias. */
  fields: ReadonlyMap<string, string>;
  /** The text of a field that has neither a value nor a default: none when absent. */
  placeholderOf?: (alias: string) => string;
  /** The version that the reader gets of each content, by its token; the usual content where there is none. */
  versions: ReadonlyMap<string, number>;
  timeZone: string;
  locale: string;
  /** In milliseconds since 1970. */
  now: number;
  /** Values of tokens as HTML, by their names and arguments: `formfield=email`. */
  tokens: ReadonlyMap<string, string>;
  /** The user whom the contact belongs to; undefined where there is none, and where nothing is asked of one. */
  owner: Owner | undefined;
}

/** The part of a reader that the contact is known by. */
export type KnownReader = Pick<Reader, "fields" | "versions" | "timeZone" | "locale" | "owner">;

/** The contact as a mail of the template needs it; for an email in its own language where the contact prefers none. */
export async function readReader(
  { contacts, owners }: { contacts: KnownContacts; owners: Owners },
  { contactFields, filteredFields, contents, tokens }: MailTemplate,
  { contactId, revision, now }: { contactId: number; revision: EmailRevision; now: number },
): Promise<KnownReader> {
  const asksOwner = owners.mayMail(revision) || tokens.some(({ name }) => name === "ownerfield");
  const asked = [
    "email",
    "timezone",
    "preferred_locale",
    ...(asksOwner ? ["owner_id"] : []),
    ...contactFields,
  ];
  const [fields, matched] = await Promise.all([
    contacts.fieldsOf(contactId, asked),
    filteredFields.length > 0 ? contacts.matched(contactId, filteredFields) : undefined,
  ]);
  return {
    ...knownBy(fields, revision),
    versions: matched ? versionsFor(contents, matched, now) : new Map(),
    owner: asksOwner ? await owners.find(Number(fields.get("owner_id"))) : undefined,
  };
}

/** The time zone and the language of a reader with these fields. */
export function knownBy(fields: ReadonlyMap<string, string>, { language }: EmailRevision) {
  return {
    fields,
    timeZone: fields.get("timezone") || "UTC",
    locale: fields.get("preferred_locale") || language,
  };
}

/** The first version of each content whose filters the contact matches; none where the usual content is meant (engines.md 6.7). */
function versionsFor(
  contents: ReadonlyMap<string, DynamicContent>,
  matched: MatchedContact,
  now: number,
): Map<string, number> {
  const found = [...contents].map(
    ([name, { versions }]) =>
      [name, versions.findIndex(({ filters }) => matches(filters, matched, now))] as const,
  );
  return new Map(found.filter(([, index]) => index >= 0));
}
