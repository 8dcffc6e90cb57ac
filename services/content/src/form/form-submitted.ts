import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { prepared } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import type { Queryable, Transaction } from "@tidings/database/transaction";
import { type DomainEvent, domainEvent } from "@tidings/messaging/outbox";
import { FormSubmittedSchema } from "@tidings/proto/tidings/content/v1/events";
import type { Form } from "@tidings/proto/tidings/content/v1/form";
import { CATEGORY_JSON } from "@tidings/resource/category-reference";
import { jsonBytes } from "@tidings/resource/json-member";
import { resultsOf } from "./results-of.ts";
import { filesShown } from "./submission-files.ts";

/** A submission whose contact is known, where there is one. */
interface Submitted {
  key: string;
  formId: number;
  submissionId: number;
  dateSubmitted: number;
  identifiedAs?: number | undefined;
}

const submittedStatement = prepared(
  "form_submissions_submitted",
  `select ip, tracking_id, referer, page_id, results from form_submissions
   where id = $1 and date_submitted = $2::timestamptz`,
);
const categoryStatement = prepared(
  "form_submitted_category",
  `select ${CATEGORY_JSON} as shown from categories where id = $1`,
);

/** The row of a submission; undefined where it is gone. */
export async function submittedRow(
  { query }: Queryable,
  { submissionId, dateSubmitted }: Submitted,
): Promise<Row | undefined> {
  const at = new Date(dateSubmitted).toISOString();
  const [row] = await query(submittedStatement, [submissionId, at]);
  return row;
}

/** The event of a submission whose actions were carried out. */
export async function formSubmitted(
  { publicUrl }: { publicUrl: string },
  transaction: Transaction,
  task: Submitted,
  { form, row }: { form: Form; row: Row },
): Promise<DomainEvent> {
  const { submissionId } = task;
  const [category] = form.category ? await transaction.query(categoryStatement, [form.category.id]) : [];
  const files = await filesShown(transaction, { form, submissionIds: [submissionId], publicUrl });
  return domainEvent(
    "tidings.content.form.submitted",
    { id: submissionId, version: 1 },
    FormSubmittedSchema,
    {
      ...submittedOf(task, form, row),
      formCategory: Buffer.from(category?.shown ?? "null"),
      files: files.get(submissionId) ?? jsonBytes({}),
    },
  );
}

function submittedOf(
  { key, formId, dateSubmitted, identifiedAs: contactId = 0 }: Submitted,
  form: Form,
  row: Row,
): MessageInitShape<typeof FormSubmittedSchema> {
  return {
    submissionId: key,
    contactId,
    formId,
    dateSubmitted: timestampFromMs(dateSubmitted),
    ip: row.ip ?? "",
    trackingId: row.tracking_id ?? "",
    referer: row.referer ?? "",
    ...(row.page_id && { pageId: Number(row.page_id) }),
    results: jsonBytes(resultsOf(row, form)),
    formName: form.name,
    formAlias: form.alias,
    formType: form.formType ?? "",
    ...(form.createdBy !== undefined && { formCreatedBy: form.createdBy }),
  };
}
