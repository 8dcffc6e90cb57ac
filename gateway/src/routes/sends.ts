import { EmailMethodService, SendSchema } from "@tidings/proto/tidings/content/v1/email";
import { messageWriter } from "../rest/message-json.ts";
import { jsonAnswer, messageAnswer, textAnswer } from "../route/answer.ts";
import { idInMember, objectBody } from "../route/body-form.ts";
import { id } from "../route/parameter.ts";
import { idIn, type QueryForm } from "../route/query-form.ts";
import { type Route, route } from "../route/route.ts";
import { arrayOf, closed, TEXT, WHOLE_NUMBER } from "../route/schema.ts";
import type { RoutesContext } from "./routes-context.ts";

const writeSend = messageWriter(SendSchema);
const SENDS = textAnswer((components) =>
  closed({ sends: arrayOf(components.answered(SendSchema)), next: { type: ["string", "null"] } }),
);
const RESOLUTION = objectBody({
  type: "object",
  properties: { as: { enum: ["sent", "failed", "again"] } },
  required: ["as"],
});
const REPLAY = objectBody({
  type: "object",
  properties: { emailId: WHOLE_NUMBER, code: WHOLE_NUMBER },
  required: ["emailId"],
});
const PAGE = 100;
const SENDS_QUERY: QueryForm<{
  emailId: number;
  contactId: number;
  state: string;
  after: string;
  pageSize: number;
}> = {
  parameters: [
    { name: "emailId", description: "Sends of this email", schema: { type: "integer", minimum: 1 } },
    { name: "contactId", description: "Sends to this contact", schema: { type: "integer", minimum: 1 } },
    { name: "state", description: "Sends in this state", schema: TEXT },
    { name: "limit", description: "At most so many, 500 at most", schema: { type: "integer", minimum: 1 } },
    { name: "after", description: "Sends behind this id, as `next` of the page before says", schema: TEXT },
  ],
  read({ emailId, contactId, state = "", limit, after = "" }) {
    return {
      emailId: idIn("emailId", emailId),
      contactId: idIn("contactId", contactId),
      state: String(state),
      after: String(after),
      pageSize: limit === undefined ? PAGE : idIn("limit", limit),
    };
  },
};

/** Routes of the ledger: what became of each mail. */
export function sendRoutes({ clients }: RoutesContext): Route[] {
  const emails = clients.of(EmailMethodService);
  const rpc = EmailMethodService.method;
  return [
    route({
      method: "GET",
      path: "/sends",
      summary: "List sends of an email or a contact, the latest first",
      rpc: rpc.listSends,
      query: SENDS_QUERY,
      answer: SENDS,
      async handle({ query, options }) {
        const { sends, next } = await emails.listSends(query, options);
        return `{"sends":[${sends.map((send) => writeSend(send)).join(",")}],"next":${JSON.stringify(next || null)}}`;
      },
    }),
    route({
      method: "POST",
      path: "/sends/replay",
      summary: "Try failed sends of an email again",
      rpc: rpc.replaySends,
      body: REPLAY,
      answer: jsonAnswer(closed({ success: { const: 1 }, job: closed({ id: TEXT }) })),
      errors: [404, 409],
      async handle({ body: { emailId, code }, options }) {
        const { jobId } = await emails.replaySends(
          { emailId: idInMember("emailId", emailId), code: idInMember("code", code) },
          options,
        );
        return { success: 1, job: { id: jobId } };
      },
    }),
    route({
      method: "POST",
      path: "/sends/:id/resolve",
      summary: "Decide a send whose outcome nobody knows",
      rpc: rpc.resolveSend,
      parameters: { id: id("Id of a send") },
      body: RESOLUTION,
      answer: messageAnswer("send", SendSchema),
      errors: [409],
      handle: ({ parameters, body, options }) =>
        emails.resolveSend({ id: String(parameters.id), as: String(body.as ?? "") }, options),
    }),
  ];
}
