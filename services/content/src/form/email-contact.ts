import { prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import type { Outbox } from "@tidings/messaging/outbox";
import type { Form, FormAction } from "@tidings/proto/tidings/content/v1/form";
import { propertiesOf } from "@tidings/resource/properties";
import { textOf } from "@tidings/runtime/plain-text";
import { isOpen } from "../family/is-open.ts";
import { chooseMember } from "../send/choose-contact.ts";
import { formFieldTokens } from "./form-field-tokens.ts";

interface Emailing {
  form: Form;
  action: FormAction;
  /** The key of the submission. */
  key: string;
  contactId: number;
  /** The results of the submission by the aliases of the form's fields. */
  results: Record<string, unknown>;
  /** The contact's locale. */
  locale: string;
}

const openStatement = prepared(
  "emails_open_to_form",
  `select from emails e where e.id = $1::integer and ${isOpen("e")}`,
);

/**
 * Chooses the contact of a submission for the email of an action, once: `{formfield=alias}` stands for what was sent. Answers whether the email is published:
 * nobody gets another one.
 */
export async function emailContact(
  { transaction, outbox, now }: { transaction: Transaction; outbox: Outbox; now: number },
  { form, action, key, contactId, results, locale }: Emailing,
): Promise<boolean> {
  const emailId = Number(textOf(propertiesOf(action).email) ?? 0);
  const [open] = await transaction.query(openStatement, [emailId]);
  if (!open) return false;
  const of = { emailId, contactId, occasion: `form:${key}:${action.id}`, source: "form", sourceId: form.id };
  await chooseMember({ transaction, outbox, now }, { ...of, tokens: formFieldTokens(results) }, locale);
  return true;
}
