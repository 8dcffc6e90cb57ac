import { wireAddress } from "@tidings/mail/mail-address";
import type { Form, FormAction } from "@tidings/proto/tidings/content/v1/form";
import { propertiesOf } from "@tidings/resource/properties";
import { html } from "@tidings/runtime/html";
import { textOf } from "@tidings/runtime/plain-text";
import type { ChosenNotice } from "../notice/choose-notices.ts";
import { resultText } from "./form-field-tokens.ts";

interface Failed {
  form: Form;
  action: FormAction;
  /** The key of the submission. */
  key: string;
  /** 0 where nobody knows. */
  contactId: number;
  results: Record<string, unknown>;
  failure: string;
}

/** Says by mail that a submission was not posted on, and has its results; undefined where nobody wants to know. */
export function failureNotice({
  form,
  action,
  key,
  contactId,
  results,
  failure,
}: Failed): ChosenNotice | undefined {
  const address = (textOf(propertiesOf(action).failure_email) ?? "").trim();
  if (wireAddress(address) === undefined) return undefined;
  const rows = Object.entries(results).map(
    ([alias, value]) => html`<tr><th align="left">${alias}</th><td>${resultText(value)}</td></tr>`,
  );
  const text = Object.entries(results).map(([alias, value]) => `${alias}: ${resultText(value)}`);
  return {
    occasion: `form:${key}:${action.id}`,
    sourceId: form.id,
    contactId: contactId || undefined,
    addresses: [address],
    mail: {
      ...{ fromAddress: "", fromName: "", to: [], cc: [], headers: [], attachments: [] },
      subject: `A submission of the form ${form.name} was not passed on`,
      html: html`<p>${failure}</p><table>${rows}</table>`.markup,
      text: `${failure}\n\n${text.join("\n")}\n`,
    },
  };
}
