import type { DescMessage, Message } from "@bufbuild/protobuf";
import {
  type Form,
  FormActionSchema,
  FormFieldSchema,
  FormMethodService,
  FormSchema,
} from "@tidings/proto/tidings/content/v1/form";
import { SubmissionSchema, SubmissionService } from "@tidings/proto/tidings/content/v1/submission";
import { badRequest } from "@tidings/rpc/fault";
import { type Request, Router } from "express";
import type { Clients } from "../clients.ts";
import { endpoint } from "../rest/endpoint.ts";
import { type ApiResponse, BUDGET_MS, outgoing, requiredId, sendJson } from "../rest/exchange.ts";
import type { ListLimits } from "../rest/list-query.ts";
import { messageWriter } from "../rest/message-json.ts";
import { listing } from "./listing.ts";

const IDS_MAX = 1_000;
const ID_MAX = 2 ** 31 - 1;

const writeSubmission = messageWriter(SubmissionSchema);
const writeForm = presentWriter(FormSchema, ["fields", "actions"]);
const writeField = presentWriter(FormFieldSchema);
const writeAction = presentWriter(FormActionSchema);

/** What forms have beyond the standard operations: parts that are taken out, and submissions. */
export function formRoutes(clients: Clients, limits: ListLimits): Router {
  const methods = clients.of(FormMethodService);
  const submissions = clients.of(SubmissionService);
  const router = Router({ caseSensitive: true });

  const removeFields = async (request: Request, response: ApiResponse) => {
    const { exchange } = response.locals;
    const removal = { id: requiredId(request), fieldIds: idsIn(exchange.query.fields, "fields") };
    sendForm(response, await methods.removeFormFields(removal, outgoing(exchange, BUDGET_MS.write)));
  };

  const removeActions = async (request: Request, response: ApiResponse) => {
    const { exchange } = response.locals;
    const removal = { id: requiredId(request), actionIds: idsIn(exchange.query.actions, "actions") };
    sendForm(response, await methods.removeFormActions(removal, outgoing(exchange, BUDGET_MS.write)));
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

  endpoint(router, "/:id/fields/delete", { DELETE: removeFields });
  endpoint(router, "/:id/actions/delete", { DELETE: removeActions });
  endpoint(router, "/:id/submissions", { GET: listOf(() => undefined) });
  endpoint(router, "/:id/submissions/contact/:contactId", {
    GET: listOf((request) => requiredId(request, "contactId")),
  });
  endpoint(router, "/:id/submissions/:submissionId", { GET: getSubmission });
  return router;
}

/** Here callers are shown no member that is null. */
function sendForm(response: ApiResponse, form: Form): void {
  const parts = [writeForm(form).slice(1, -1), keyed("fields", form.fields, writeField)];
  const json = [...parts, keyed("actions", form.actions, writeAction)].join(",");
  sendJson(response, 200, `{"form":{${json}}}`);
}

/** Written as text: an object would put its integer keys in their own order. */
function keyed<T extends { id: number }>(name: string, items: T[], write: (item: T) => string): string {
  const entries = items.map((item) => `"${item.id}":${write(item)}`).join(",");
  return `"${name}":${items.length === 0 ? "[]" : `{${entries}}`}`;
}

function presentWriter(schema: DescMessage, left: string[] = []): (message: Message) => string {
  const write = messageWriter(schema);
  const names = new Set(schema.fields.map(({ jsonName }) => jsonName).filter((name) => !left.includes(name)));
  return (message) => write(message, names);
}

/** `fields[]=1&fields[]=2`, or nothing; a number that can be nobody's id names nothing. */
function idsIn(sent: unknown, name: string): number[] {
  const texts = typeof sent === "object" && sent !== null ? Object.values(sent) : sent ? [sent] : [];
  if (texts.length > IDS_MAX) throw badRequest(`At most ${IDS_MAX} ids are supported.`);
  if (!texts.every((text) => typeof text === "string" && /^\d{1,15}$/.test(text)))
    throw badRequest(`${name} must be a list of ids.`);
  return texts.map(Number).filter((id) => id > 0 && id <= ID_MAX);
}
