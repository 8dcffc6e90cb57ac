import { FormMethodService, FormSchema } from "@tidings/proto/tidings/content/v1/form";
import { SubmissionSchema, SubmissionService } from "@tidings/proto/tidings/content/v1/submission";
import { type Request, Router } from "express";
import type { Clients } from "../clients.ts";
import { endpoint, needing } from "../rest/endpoint.ts";
import { type ApiResponse, BUDGET_MS, outgoing, requiredId, sendJson } from "../rest/exchange.ts";
import { idsInQuery } from "../rest/ids-in-query.ts";
import type { ListLimits } from "../rest/list-query.ts";
import { messageWriter, type NestedForm, presentWriter } from "../rest/message-json.ts";
import { listing } from "./listing.ts";

const writeSubmission = messageWriter(SubmissionSchema);
/** Members that are null are left out of the answer to a removal. */

/** Routes of forms beyond the standard operations: removal of parts, and submissions. */
export function formRoutes(clients: Clients, limits: ListLimits, nested: NestedForm): Router {
  const writeForm = presentWriter(FormSchema, nested);
  const methods = clients.of(FormMethodService);
  const submissions = clients.of(SubmissionService);
  const router = Router({ caseSensitive: true });

  const removeFields = async (request: Request, response: ApiResponse) => {
    const { exchange } = response.locals;
    const removal = { id: requiredId(request), fieldIds: idsInQuery(exchange.query, "fields") };
    const form = await methods.removeFormFields(removal, outgoing(exchange, BUDGET_MS.write));
    sendJson(response, 200, `{"form":${writeForm(form)}}`);
  };

  const removeActions = async (request: Request, response: ApiResponse) => {
    const { exchange } = response.locals;
    const removal = { id: requiredId(request), actionIds: idsInQuery(exchange.query, "actions") };
    const form = await methods.removeFormActions(removal, outgoing(exchange, BUDGET_MS.write));
    sendJson(response, 200, `{"form":${writeForm(form)}}`);
  };

  const listOf = (contactOf: (request: Request) => number | undefined) =>
    listing(
      SubmissionSchema,
      "submissions",
      limits,
      (request) => {
        const formId = requiredId(request);
        const contactId = contactOf(request);
        return async (query, options) => {
          const asked = { formId, query, ...(contactId !== undefined && { contactId }) };
          const { submissions: items, ...page } = await submissions.listSubmissions(asked, options);
          return { ...page, items };
        };
      },
      "string",
    );

  const getSubmission = async (request: Request, response: ApiResponse) => {
    const asked = { formId: requiredId(request), id: requiredId(request, "submissionId") };
    const options = outgoing(response.locals.exchange, BUDGET_MS.read);
    const submission = await submissions.getSubmission(asked, options);
    sendJson(response, 200, `{"submission":${writeSubmission(submission)}}`);
  };

  endpoint(router, "/:id/fields/delete", {
    DELETE: needing(FormMethodService.method.removeFormFields, removeFields),
  });
  endpoint(router, "/:id/actions/delete", {
    DELETE: needing(FormMethodService.method.removeFormActions, removeActions),
  });
  endpoint(router, "/:id/submissions", { GET: listOf(() => undefined) });
  endpoint(router, "/:id/submissions/contact/:contactId", {
    GET: listOf((request) => requiredId(request, "contactId")),
  });
  endpoint(router, "/:id/submissions/:submissionId", { GET: getSubmission });
  return router;
}
