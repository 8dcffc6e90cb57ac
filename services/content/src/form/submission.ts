import { create } from "@bufbuild/protobuf";
import { queryable } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import { timestampFromText } from "@tidings/database/timestamp";
import { Verb } from "@tidings/proto/tidings/api/v1/options";
import type { Form } from "@tidings/proto/tidings/content/v1/form";
import {
  type Submission,
  SubmissionSchema,
  type SubmissionService,
} from "@tidings/proto/tidings/content/v1/submission";
import { ListQuerySchema } from "@tidings/proto/tidings/type/v1/list";
import { EVERYTHING } from "@tidings/resource/condition";
import { jsonBytes, parseJson } from "@tidings/resource/json-member";
import { listPage } from "@tidings/resource/list";
import { mayReach } from "@tidings/resource/reach";
import type { Repository, ResourceContext } from "@tidings/resource/repository-options";
import type { Call } from "@tidings/rpc/call";
import type { Handlers } from "@tidings/rpc/definition";
import { denied, notFound } from "@tidings/rpc/fault";
import { requireForm } from "./read-form.ts";
import { releaseSpam } from "./release-spam.ts";
import { resultsOf } from "./results-of.ts";
import { filesShown } from "./submission-files.ts";
import { spamList, submissionList } from "./submission-list.ts";
import { valuesIn } from "./submission-values.ts";
import { type Submitting, submitForm } from "./submit.ts";
import { trySubmission } from "./try-submission.ts";

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
  const getSubmission = async ({ formId, id }: { formId: number; id: number }, call: Call) => {
    const form = await forms.get(formId, call);
    const query = create(ListQuerySchema, { ids: [id] });
    const lists = [submissionList(form, query), spamList(form, query)];
    const pages = lists.map((list) => listPage(database, list, query, EVERYTHING, call));
    const rows = (await Promise.all(pages)).flatMap((page) => page.rows);
    // It may be released at this moment.
    const [submission] = await shown(rows.slice(0, 1), form, call);
    if (!submission) throw notFound();
    submission.results = jsonBytes({ form_id: String(formId), ...parseJson(submission.results) });
    return submission;
  };
  return {
    async listSubmissions({ formId, contactId, spam, query = create(ListQuerySchema) }, call) {
      const form = await forms.get(formId, call);
      const source = spam ? spamList(form, query) : submissionList(form, query, contactId);
      const page = await listPage(database, source, query, EVERYTHING, call);
      return { submissions: await shown(page.rows, form, call), totalSize: page.totalSize, ids: page.ids };
    },
    getSubmission,
    async releaseSubmission(request, call) {
      const form = await forms.get(request.formId, call);
      const isOwn = form.createdBy !== undefined && form.createdBy === call.actor.id;
      if (!mayReach(call, Verb.EDIT, isOwn)) throw denied();
      await releaseSpam(submitting, request, call);
      return getSubmission(request, call);
    },
    trySubmission: (request, call) => trySubmission({ ...submitting, forms }, request, call),
    async submitForm({ values, formId, ...request }, call) {
      const form = await requireForm(queryable(database, call.deadlineMs), formId);
      const sent = { ...request, form, values: valuesIn(values) };
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
    isSpam: (row.reason ?? null) !== null,
    ...(row.reason && { spamReason: row.reason }),
    files: files.get(Number(row.id)) ?? jsonBytes({}),
  });
}
