import { type Database, queryable } from "@tidings/database/database";
import type { Mailbox } from "@tidings/mail/compose-mail";
import { wireAddress } from "@tidings/mail/mail-address";
import type { Form, FormAction } from "@tidings/proto/tidings/content/v1/form";
import { propertiesOf } from "@tidings/resource/properties";
import { html } from "@tidings/runtime/html";
import { textOf } from "@tidings/runtime/plain-text";
import type { ChosenNotice } from "../notice/choose-notices.ts";
import { noticeMailOf } from "../notice/notice-mail.ts";
import { findMailboxes } from "../notice/users.ts";
import { type EmailRevision, presentRevision } from "../send/email-revision.ts";
import { renderUnsent, type UnsentOptions } from "../send/render-unsent.ts";
import { idsOf } from "./carry-out-action.ts";
import { formFieldTokens } from "./form-field-tokens.ts";

export interface NoticeOptions {
  database: Database;
  rendering: UnsentOptions;
}

/** A submission whose action is a mail to users or addresses. */
export interface Noticed {
  form: Form;
  action: FormAction;
  /** The key of the submission. */
  key: string;
  /** 0 where nobody knows. */
  contactId: number;
  /** The results of the submission by the aliases of the form's fields. */
  results: Record<string, unknown>;
  deadlineMs: number;
}

const ADDRESSES_MAX = 50;

/** The mails of an `email.send.user` or `form.email` (engines.md 5.6); none where nobody would get them. Throws while the contact service is away. */
export async function noticesOfAction(options: NoticeOptions, noticed: Noticed): Promise<ChosenNotice[]> {
  return noticed.action.type === "email.send.user"
    ? emailToUsers(options, noticed)
    : resultsByMail(options, noticed);
}

async function emailToUsers(
  { database, rendering }: NoticeOptions,
  noticed: Noticed,
): Promise<ChosenNotice[]> {
  const { useremail, user_id: ids } = propertiesOf(noticed.action) as {
    useremail?: { email?: unknown };
    user_id?: unknown;
  };
  const revision = await presentRevision(database, Number(textOf(useremail?.email) ?? 0));
  const users = await findMailboxes(queryable(database, noticed.deadlineMs), { ids: idsOf(ids) });
  if (!revision || users.length === 0) return [];
  const rendered = await renderUnsent(revision, valuesOf(noticed, database), rendering);
  const addresses = users.map(({ address }) => address);
  return [{ ...of(noticed), mail: noticeMailOf(rendered, revision), addresses }];
}

async function resultsByMail(
  { database, rendering }: NoticeOptions,
  noticed: Noticed,
): Promise<ChosenNotice[]> {
  const { form, action, contactId, results } = noticed;
  const properties = propertiesOf(action);
  const text = (name: string) => textOf(properties[name]) ?? "";
  const isOn = (name: string) => ["1", "true"].includes(text(name));
  const fields =
    contactId > 0 ? await rendering.contacts.fieldsOf(contactId, ["email", "owner_id"]) : new Map();
  const contactAddress = wireAddress(fields.get("email") ?? "");
  const ownerId = Number(fields.get("owner_id"));
  const owners =
    isOn("email_to_owner") && ownerId > 0
      ? await findMailboxes(queryable(database, noticed.deadlineMs), { ids: [ownerId] })
      : [];
  const to = [...mailboxesIn(text("to")), ...owners.map(({ name, address }) => ({ name, address }))];
  const cc = mailboxesIn(text("cc"));
  const message = text("message").trim() || resultsTable(form, results);
  const revision = {
    ...BARE,
    subject: text("subject") || `Results of the form ${form.name}`,
    customHtml: message,
  };
  const rendered = await renderUnsent(revision, valuesOf(noticed, database), rendering);
  const mail = { ...noticeMailOf(rendered, revision), attachments: [] };
  const replyTo =
    isOn("set_replyto") && contactAddress ? { replyTo: { name: "", address: contactAddress } } : {};
  const addresses = addressesOf([...to, ...cc, ...mailboxesIn(text("bcc"))]);
  const chosen = of(noticed);
  return [
    { ...chosen, mail: { ...mail, ...replyTo, to, cc }, addresses },
    ...(isOn("copy_lead") && contactAddress
      ? [
          {
            ...chosen,
            occasion: `${chosen.occasion}:copy`,
            mail,
            addresses: [contactAddress],
            isToContact: true,
          },
        ]
      : []),
  ].filter((notice) => notice.addresses.length > 0);
}

function of({ form, action, key, contactId }: Noticed) {
  return { occasion: `form:${key}:${action.id}`, sourceId: form.id, contactId: contactId || undefined };
}

function valuesOf({ contactId, results }: Noticed, database: Database) {
  return { contactId, tokens: formFieldTokens(results), now: database.now() };
}

/** A mail that no email is kept for. */
const BARE: EmailRevision = {
  ...{ emailId: 0, version: 0, name: "", subject: "", language: "en", fromAddress: null, fromName: null },
  ...{
    replyToAddress: null,
    bccAddress: null,
    utmTags: {},
    preheaderText: null,
    customHtml: null,
    plainText: null,
  },
  ...{ assetAttachments: [], dynamicContent: [], headers: {} },
};

/** As somebody wrote them, with commas, semicolons or spaces between; those that are no addresses are left out. */
function mailboxesIn(text: string): Mailbox[] {
  return text
    .split(/[\s,;]+/)
    .filter((address) => wireAddress(address) !== undefined)
    .slice(0, ADDRESSES_MAX)
    .map((address) => ({ name: "", address }));
}

/** Each address once. */
function addressesOf(mailboxes: Mailbox[]): string[] {
  return [...new Map(mailboxes.map(({ address }) => [address.toLowerCase(), address])).values()];
}

/** All results in the words of a template. What somebody sent stands in none of it: tokens in it would be tokens. */
function resultsTable({ fields }: Form, results: Record<string, unknown>): string {
  const rows = fields
    .filter(({ alias }) => Object.hasOwn(results, alias))
    .map(({ label, alias }) => html`<tr><th align="left">${label}</th><td>{formfield=${alias}}</td></tr>`);
  return html`<table>${rows}</table>`.markup;
}
