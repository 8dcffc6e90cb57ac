import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { queryable } from "@tidings/database/database";
import type { Form } from "@tidings/proto/tidings/content/v1/form";
import {
  type TriedContactSchema,
  type TrySubmissionRequest,
  type TrySubmissionResponse,
  TrySubmissionResponseSchema,
} from "@tidings/proto/tidings/content/v1/submission";
import type { Repository } from "@tidings/resource/repository-options";
import type { Call } from "@tidings/rpc/call";
import { Fault, invalid, NOT_VALID } from "@tidings/rpc/fault";
import { isKept, isViewOnly } from "./field-types.ts";
import { identificationOf } from "./follow-submission.ts";
import { checkOpen, requireForm } from "./read-form.ts";
import { valuesIn } from "./submission-values.ts";
import { knownBefore, type Submitting } from "./submit.ts";
import { readSubmitted, type Submitted } from "./submitted.ts";
import { wouldDo } from "./would-do.ts";

/**
 * Says what a submission would do, by the steps of a real one up to the first that keeps something. What its caller may not view of the contact
 * stays out of the answer.
 */
export async function trySubmission(
  { forms, ...submitting }: Submitting & { forms: Repository<Form> },
  { formId, values: json, contactId }: TrySubmissionRequest,
  call: Call,
): Promise<TrySubmissionResponse> {
  await forms.get(formId, call);
  const values = valuesIn(json);
  const { database, submitters, blockedEmails } = submitting;
  if (contactId !== undefined && !(await submitters.mayView(contactId, call)))
    throw invalid([{ field: "contactId", message: NOT_VALID }]);
  const form = await requireForm(queryable(database, call.deadlineMs), formId);
  const known = await knownBefore(submitting, { form, contactId, values }, call);
  const submitted = readSubmitted(form, values, { ...known, blockedEmails });
  const message = whyNot(form, submitted, database.now());
  const isTaken = message === "" && submitted.errors.length === 0;
  return create(TrySubmissionResponseSchema, {
    valid: isTaken,
    message,
    fields: verdictsOf(form, submitted),
    ...(isTaken && {
      contact: await contactOf(submitting, { form, submitted, contactId }, call),
      actions: form.actions.map((action) => ({ type: action.type, would: wouldDo(form, action) })),
    }),
  });
}

/** Why nothing would follow, whatever the values are. */
function whyNot(form: Form, { isTrapped }: Submitted, now: number): string {
  try {
    checkOpen(form, now);
  } catch (error) {
    if (error instanceof Fault) return error.message;
    throw error;
  }
  return isTrapped ? "This would be kept as spam." : "";
}

function verdictsOf({ fields }: Form, { errors }: Submitted) {
  const messages = new Map(errors.map(({ field, message }) => [field, message]));
  const judged = fields.filter((field) => isKept(field) || !isViewOnly(field) || field.type === "captcha");
  return judged.map(({ alias }) => ({
    alias,
    valid: !messages.has(alias),
    message: messages.get(alias) ?? "",
  }));
}

async function contactOf(
  { submitters, keepsKnownValues }: Submitting,
  { form, submitted, contactId = 0 }: { form: Form; submitted: Submitted; contactId?: number | undefined },
  call: Call,
): Promise<MessageInitShape<typeof TriedContactSchema> | undefined> {
  const said = {
    contactId,
    isNew: false,
    isKiosk: form.inKioskMode === true,
    keepsKnownValues,
    isProven: true,
    newContactId: 0,
    values: Object.fromEntries(submitted.contact),
    companyValues: Object.fromEntries(submitted.company),
    ip: "",
    sighting: undefined,
  };
  // Nothing is said of anybody: the visitor stays who they were, or is a new one.
  const command = identificationOf(said) ?? {};
  return submitters.wouldBe({ contactId, command }, call);
}
