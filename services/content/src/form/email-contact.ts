import type { Transaction } from "@tidings/database/transaction";
import type { Outbox } from "@tidings/messaging/outbox";
import type { Form, FormAction } from "@tidings/proto/tidings/content/v1/form";
import { propertiesOf } from "@tidings/resource/properties";
import { textOf } from "@tidings/runtime/plain-text";
import { chooseContact } from "../send/choose-contact.ts";
import { formFieldTokens } from "./form-field-tokens.ts";

interface Emailing {
  form: Form;
  action: FormAction;
  /** The key of the submission. */
  key: string;
  contactId: number;
  /** The results of the submission by the aliases of the form's fields. */
  results: Record<string, unknown>;
}

/** Chooses the contact of a submission for the email of an action, once: `{formfield=alias}` stands for what was sent. */
export async function emailContact(
  { transaction, outbox, now }: { transaction: Transaction; outbox: Outbox; now: number },
  { form, action, key, contactId, results }: Emailing,
): Promise<void> {
  const emailId = Number(textOf(propertiesOf(action).email) ?? 0);
  await chooseContact(
    { transaction, outbox, now },
    {
      ...{ emailId, contactId, occasion: `form:${key}:${action.id}`, source: "form", sourceId: form.id },
      tokens: formFieldTokens(results),
    },
  );
}
