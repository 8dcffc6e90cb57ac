import { FormMethodService, FormSchema } from "@tidings/proto/tidings/content/v1/form";
import { SubmissionSchema, SubmissionService } from "@tidings/proto/tidings/content/v1/submission";
import { presentWriter } from "../rest/message-json.ts";
import { type Answer, type AskedList, listAnswer, listQuery, messageAnswer } from "../route/answer.ts";
import { entityId, id, word } from "../route/parameter.ts";
import { idsQuery } from "../route/query-form.ts";
import { type Route, route } from "../route/route.ts";
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
  return [...removalRoutes(context), ...submissionRoutes(context)];
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

function submissionRoutes({ clients, limits, transfer }: RoutesContext): Route[] {
  const submissions = clients.of(SubmissionService);
  const viewed = { id: entityId("forms", "view") };
  const listed = listAnswer({ many: "submissions", shape: "array", total: "string" }, SubmissionSchema);
  const listOf =
    (named: { formId: number; contactId?: number }): AskedList["list"] =>
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
      query: listQuery(limits),
      answer: listed,
      handle: ({ parameters: { id: formId }, query }) => ({ parameters: query, list: listOf({ formId }) }),
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
