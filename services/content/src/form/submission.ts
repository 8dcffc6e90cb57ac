import { create } from "@bufbuild/protobuf";
import { queryable } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import { timestampFromText } from "@tidings/database/timestamp";
import type { Form } from "@tidings/proto/tidings/content/v1/form";
import {
  type Submission,
  SubmissionSchema,
  type SubmissionService,
} from "@tidings/proto/tidings/content/v1/submission";
import { type ListQuery, ListQuerySchema, OrderSchema } from "@tidings/proto/tidings/type/v1/list";
import type { ColumnType } from "@tidings/resource/columns";
import { EVERYTHING, type Filterable } from "@tidings/resource/condition";
import { isObject, type JsonObject, jsonBytes, jsonOf, parseJson } from "@tidings/resource/json-member";
import { type ListSource, listPage } from "@tidings/resource/list";
import type { Repository, ResourceContext } from "@tidings/resource/repository-options";
import { idsCommand } from "@tidings/resource/search";
import { totalOf } from "@tidings/resource/totals";
import type { Call } from "@tidings/rpc/call";
import type { Handlers } from "@tidings/rpc/definition";
import { badRequest, notFound } from "@tidings/rpc/fault";
import { type RawBuilder, sql } from "kysely";
import { isKept } from "./field-types.ts";
import { resultsOf } from "./results-of.ts";
import { filesShown } from "./submission-files.ts";
import { SUBMISSION_TOTAL } from "./submission-tables.ts";
import { type Submitting, submitForm } from "./submit.ts";

/** Columns of a submission, under the names that callers know. The ip is a table of its own to them. */
const COLUMNS: [name: string, column: string, type: ColumnType][] = [
  ["s.id", "id", "integer"],
  ["s.form_id", "form_id", "integer"],
  ["s.lead_id", "contact_id", "integer"],
  ["s.date_submitted", "date_submitted", "timestamp"],
  ["s.tracking_id", "tracking_id", "text"],
  ["s.referer", "referer", "text"],
  ["s.page_id", "page_id", "integer"],
  ["i.ip", "ip", "text"],
  ["i.ip_address", "ip", "text"],
  ["id", "id", "integer"],
  ["dateSubmitted", "date_submitted", "timestamp"],
  ["date_submitted", "date_submitted", "timestamp"],
  ["trackingId", "tracking_id", "text"],
  ["tracking_id", "tracking_id", "text"],
  ["referer", "referer", "text"],
  ["page", "page_id", "integer"],
];

const SELECTED = sql.raw(
  "s.id, s.contact_id, s.ip, s.tracking_id, s.date_submitted, s.referer, s.page_id, s.results",
);
const RESULTS_TEXT = sql`jsonb_path_query_array(s.results, '$.*')::text`;
const DEFAULT_ORDER = [create(OrderSchema, { column: "s.date_submitted" })];

/** Handlers for submissions of the forms in `forms`: a caller sees those of forms that it may view. */
export function submissionHandlers(
  context: ResourceContext,
  forms: Repository<Form>,
  submitting: Submitting,
  publicUrl: string,
): Handlers<typeof SubmissionService> {
  const { database } = context;
  const { submitters } = submitting;
  const shown = async (rows: Row[], form: Form, call: Call): Promise<Submission[]> => {
    const contactIds = rows.flatMap(({ contact_id: id }) => (id ? [Number(id)] : []));
    const contacts = await submitters.shown([...new Set(contactIds)], call);
    const files = await filesShown(queryable(database, call.deadlineMs), {
      form,
      submissionIds: rows.map(({ id }) => Number(id)),
      publicUrl,
    });
    return rows.map((row) => submissionOf(row, { form, contacts, files }));
  };
  return {
    async listSubmissions({ formId, contactId, query = create(ListQuerySchema) }, call) {
      const form = await forms.get(formId, call);
      const source = submissionList(form, contactId);
      const page = await listPage(database, source, query, EVERYTHING, call);
      return { submissions: await shown(page.rows, form, call), totalSize: page.totalSize, ids: page.ids };
    },
    async getSubmission({ formId, id }, call) {
      const form = await forms.get(formId, call);
      const query = create(ListQuerySchema, { ids: [id] });
      const { rows } = await listPage(database, submissionList(form), query, EVERYTHING, call);
      const [submission] = await shown(rows, form, call);
      if (!submission) throw notFound();
      submission.results = jsonBytes({
        form_id: String(formId),
        ...parseJson(submission.results),
      });
      return submission;
    },
    async submitForm({ values, ...request }, call) {
      const sent = { ...request, values: valuesIn(values) };
      const { submissionId, results, contact, company } = await submitForm(submitting, sent, call);
      const json = (map: Map<string, string>) => jsonBytes(Object.fromEntries(map));
      return {
        submissionId,
        results: json(results),
        contactValues: json(contact),
        companyValues: json(company),
      };
    },
  };
}

function valuesIn(json: Uint8Array): JsonObject {
  const sent = jsonOf(json);
  if (Array.isArray(sent) && sent.length === 0) return {};
  if (!isObject(sent)) throw badRequest("values must be an object.");
  return sent;
}

/** The submissions of a form, of one contact where that is named. Each list looks into its own part of an index. */
function submissionList(form: Form, contactId?: number): ListSource {
  const ofContact = contactId === undefined ? EVERYTHING : sql`contact_id = ${contactId}::integer`;
  const columns = new Map<string, Filterable>(
    COLUMNS.map(([name, column, type]) => [name, { sql: sql.ref(`s.${column}`), type }]),
  );
  for (const { alias, id } of form.fields.filter(isKept))
    columns.set(`r.${alias}`, { sql: resultOf(id), type: "text" });
  return {
    from: sql`(select id, form_id, contact_id, ip, tracking_id, date_submitted, referer, page_id, results
      from form_submissions where form_id = ${form.id}::integer and ${ofContact}) as s`,
    id: sql`s.id`,
    select: SELECTED,
    columns,
    published: undefined,
    catchAll: [RESULTS_TEXT, sql`s.ip`, sql`s.referer`, sql`s.tracking_id`],
    commands: new Map([["ids", idsCommand(sql`s.id`)]]),
    defaultOrder: DEFAULT_ORDER,
    keptTotal: ({ search }: ListQuery) =>
      search.trim() === "" && contactId === undefined
        ? totalOf(SUBMISSION_TOTAL.table, sql`${form.id}::integer`)
        : undefined,
  };
}

function resultOf(fieldId: number): RawBuilder<unknown> {
  return sql`(s.results ->> ${String(fieldId)}::text)`;
}

interface Shown {
  form: Form;
  contacts: Map<number, Uint8Array>;
  files: Map<number, Uint8Array>;
}

function submissionOf(row: Row, { form, contacts, files }: Shown): Submission {
  const { id, name, alias, category } = form;
  const shown = category ? parseJson(category.shown) : null;
  const lead = row.contact_id ? contacts.get(Number(row.contact_id)) : undefined;
  return create(SubmissionSchema, {
    id: Number(row.id),
    ipAddress: jsonBytes({ ip: row.ip }),
    form: jsonBytes({ id, name, alias, category: shown }),
    ...(lead && { lead }),
    ...(row.tracking_id !== null && { trackingId: row.tracking_id ?? "" }),
    dateSubmitted: timestampFromText(row.date_submitted ?? ""),
    ...(row.referer !== null && { referer: row.referer ?? "" }),
    ...(row.page_id !== null && { page: row.page_id ?? "" }),
    results: jsonBytes(resultsOf(row, form)),
    files: files.get(Number(row.id)) ?? jsonBytes({}),
  });
}
