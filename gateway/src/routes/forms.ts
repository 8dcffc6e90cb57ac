import { FormMethodService, FormSchema } from "@tidings/proto/tidings/content/v1/form";
import {
  SubmissionSchema,
  SubmissionService,
  type TrySubmissionResponse,
} from "@tidings/proto/tidings/content/v1/submission";
import { jsonBytes, parseJson } from "@tidings/resource/json-member";
import type { ListLimits, ListParameters } from "../rest/list-query.ts";
import { presentWriter } from "../rest/message-json.ts";
import {
  type Answer,
  type AskedList,
  jsonAnswer,
  listAnswer,
  listQuery,
  messageAnswer,
} from "../route/answer.ts";
import { idInMember, objectBody } from "../route/body-form.ts";
import { entityId, id, word } from "../route/parameter.ts";
import { idsQuery, type QueryForm, SWITCH } from "../route/query-form.ts";
import { type Route, route } from "../route/route.ts";
import { arrayOf, SWITCH as BOOLEAN, closed, TEXT, WHOLE_NUMBER } from "../route/schema.ts";
import type { RoutesContext } from "./routes-context.ts";

/** The handler streams the file itself. */
const FILE: Answer<unknown> = {
  statuses: [200],
  contentType: "application/octet-stream",
  headers: ["Content-Disposition"],
  describe: () => ({ type: "string", contentMediaType: "application/octet-stream" }),
  send: () => undefined,
};

/** Routes of forms beyond the standard operations: removal of parts, and submissions. */
export function formRoutes(context: RoutesContext): Route[] {
  return [
    ...removalRoutes(context),
    ...submissionListRoutes(context),
    ...singleSubmissionRoutes(context),
    ...spamRoutes(context),
  ];
}

function removalRoutes({ clients, nested }: RoutesContext): Route[] {
  const forms = clients.of(FormMethodService);
  const rpc = FormMethodService.method;
  // Members that are null are left out of the answer to a removal.
  const reduced = messageAnswer("form", FormSchema, {
    write: presentWriter(FormSchema, nested),
    isPart: true,
  });
  const edited = { id: entityId("forms", "edit") };
  return [
    route({
      method: "DELETE",
      path: "/forms/:id/fields/delete",
      summary: "Remove fields from a form",
      rpc: rpc.removeFormFields,
      parameters: edited,
      query: idsQuery("fields"),
      answer: reduced,
      handle: ({ parameters: { id }, query: fieldIds, options }) =>
        forms.removeFormFields({ id, fieldIds }, options),
    }),
    route({
      method: "DELETE",
      path: "/forms/:id/actions/delete",
      summary: "Remove actions from a form",
      rpc: rpc.removeFormActions,
      parameters: edited,
      query: idsQuery("actions"),
      answer: reduced,
      handle: ({ parameters: { id }, query: actionIds, options }) =>
        forms.removeFormActions({ id, actionIds }, options),
    }),
  ];
}

function submissionListRoutes({ clients, limits }: RoutesContext): Route[] {
  const submissions = clients.of(SubmissionService);
  const viewed = { id: entityId("forms", "view") };
  const listed = listAnswer({ many: "submissions", shape: "array", total: "string" }, SubmissionSchema);
  const listOf =
    (named: { formId: number; contactId?: number; spam?: boolean }): AskedList["list"] =>
    async (query, options) => {
      const { submissions: items, ...page } = await submissions.listSubmissions({ ...named, query }, options);
      return { ...page, items };
    };
  return [
    route({
      method: "GET",
      path: "/forms/:id/submissions",
      summary: "List the submissions of a form",
      rpc: SubmissionService.method.listSubmissions,
      parameters: viewed,
      query: submissionQuery(limits),
      answer: listed,
      handle: ({ parameters: { id: formId }, query: { spam, ...parameters } }) => ({
        parameters,
        list: listOf({ formId, spam }),
      }),
    }),
    route({
      method: "GET",
      path: "/forms/:id/submissions/contact/:contactId",
      summary: "List what a contact submitted in a form",
      rpc: SubmissionService.method.listSubmissions,
      operation: "listContactSubmissions",
      parameters: { ...viewed, contactId: id("Id of a contact") },
      query: listQuery(limits),
      answer: listed,
      handle: ({ parameters: { id: formId, contactId }, query }) => ({
        parameters: query,
        list: listOf({ formId, contactId }),
      }),
    }),
  ];
}

function singleSubmissionRoutes({ clients, transfer }: RoutesContext): Route[] {
  const submissions = clients.of(SubmissionService);
  const viewed = { id: entityId("forms", "view") };
  return [
    route({
      method: "GET",
      path: "/forms/:id/submissions/:submissionId",
      summary: "Get a submission of a form",
      rpc: SubmissionService.method.getSubmission,
      parameters: { ...viewed, submissionId: id("Id of a submission") },
      answer: messageAnswer("submission", SubmissionSchema),
      handle: ({ parameters: { id: formId, submissionId }, options }) =>
        submissions.getSubmission({ formId, id: submissionId }, options),
    }),
    route({
      method: "GET",
      path: "/forms/:id/submissions/:submissionId/files/:alias",
      summary: "Download a file of a submission",
      operation: "downloadSubmissionFile",
      right: { base: "form:forms", verb: "view" },
      parameters: {
        ...viewed,
        submissionId: id("Id of a submission"),
        alias: word("Alias of the field that the file was sent for"),
      },
      answer: FILE,
      handle: ({ parameters: { id: formId, submissionId, alias }, response }) =>
        transfer.download(response, `forms/${formId}/${submissionId}/${encodeURIComponent(alias)}`),
    }),
  ];
}

/** A page, of spam where that is asked for. */
function submissionQuery(limits: ListLimits): QueryForm<ListParameters & { spam: boolean }> {
  const { parameters, read } = listQuery(limits);
  return {
    parameters: [
      ...parameters,
      { name: "spam", description: "Lists what was kept as spam instead", schema: SWITCH },
    ],
    read: ({ spam, ...query }) => ({ ...read(query), spam: spam === "1" || spam === "true" }),
  };
}

const TRIED = {
  type: "object",
  properties: {
    values: { type: "object", description: "Values by the aliases of the fields, as a form sends them" },
    contactId: {
      ...WHOLE_NUMBER,
      description: "The contact that the visitor has proven to be; nobody when absent",
    },
  },
  examples: [{ values: {} }],
};
const VERDICT = closed({ valid: BOOLEAN, message: TEXT });
const WOULD = closed({
  valid: BOOLEAN,
  message: TEXT,
  fields: { type: "object", additionalProperties: VERDICT },
  contact: {
    anyOf: [
      closed({
        id: { type: ["integer", "null"] },
        isNew: BOOLEAN,
        changes: { type: "object", additionalProperties: TEXT },
      }),
      { type: "null" },
    ],
  },
  actions: arrayOf(closed({ type: TEXT, would: TEXT })),
});

function spamRoutes({ clients }: RoutesContext): Route[] {
  const submissions = clients.of(SubmissionService);
  return [
    route({
      method: "POST",
      path: "/forms/:id/submissions/:submissionId/release",
      summary: "Make a submission that was kept as spam a good one, with all that follows",
      rpc: SubmissionService.method.releaseSubmission,
      parameters: { id: entityId("forms", "edit"), submissionId: id("Id of a submission") },
      answer: messageAnswer("submission", SubmissionSchema),
      handle: ({ parameters: { id: formId, submissionId }, options }) =>
        submissions.releaseSubmission({ formId, id: submissionId }, options),
    }),
    route({
      method: "POST",
      path: "/forms/:id/try",
      summary: "Get what a submission would do; nothing is kept",
      rpc: SubmissionService.method.trySubmission,
      isRead: true,
      parameters: { id: entityId("forms", "view") },
      body: objectBody(TRIED),
      answer: jsonAnswer(WOULD),
      async handle({ parameters: { id: formId }, body: { values = {}, contactId }, options }) {
        const request = {
          ...{ formId, values: jsonBytes(values) },
          contactId: idInMember("contactId", contactId) || undefined,
        };
        return triedJson(await submissions.trySubmission(request, options));
      },
    }),
  ];
}

function triedJson({ valid, message, fields, contact, actions }: TrySubmissionResponse): object {
  return {
    valid,
    message,
    fields: Object.fromEntries(fields.map(({ alias, valid, message }) => [alias, { valid, message }])),
    contact: contact
      ? { id: contact.id ?? null, isNew: contact.isNew, changes: parseJson(contact.changes) }
      : null,
    actions: actions.map(({ type, would }) => ({ type, would })),
  };
}
