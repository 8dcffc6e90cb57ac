import { backgroundDeadline, prepared, queryable } from "@tidings/database/database";
import { html } from "@tidings/runtime/html";
import { takenAnswer } from "./form-answer.ts";
import type { FormRouteOptions } from "./form-options.ts";
import type { FormPage } from "./form-pages.ts";
import { readForm } from "./read-form.ts";
import { resultsOf } from "./results-of.ts";

const submissionStatement = prepared(
  "form_message_submission",
  `select results from form_submissions where id = $1 and form_id = $2
   union all select results from form_spam where id = $1 and form_id = $2`,
);

/** The message of the submission that a signed link names. */
export async function messageOf(
  options: FormRouteOptions,
  token: string | undefined,
): Promise<FormPage | undefined> {
  const [formId, submissionId] = (token ?? "").split(" ").map(Number);
  if (!formId || !submissionId) return undefined;
  const { database } = options.submitting;
  const deadlineMs = backgroundDeadline();
  const form = await readForm(queryable(database, deadlineMs), formId);
  if (!form) return undefined;
  const [row] = await database.query(submissionStatement, [submissionId, formId], deadlineMs);
  const results = new Map(
    Object.entries(resultsOf(row ?? {}, form)).map(([alias, value]) => [alias, String(value ?? "")] as const),
  );
  const contact = new Map(
    form.fields.flatMap(({ alias, mappedField, mappedObject }) =>
      mappedField && mappedObject !== "company" ? [[mappedField, results.get(alias) ?? ""] as const] : [],
    ),
  );
  const { message, redirect, download } = await takenAnswer({ form, results, contact }, options);
  const onward = redirect === undefined ? "" : html`<p><a href="${redirect}">Continue</a></p>`.markup;
  return { form, message: `${message}${onward}`, ...(download !== undefined && { download }) };
}
