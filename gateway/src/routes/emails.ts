import { EmailMethodService, EmailSchema, type SendProgress } from "@tidings/proto/tidings/content/v1/email";
import { EmailTestSchema } from "@tidings/proto/tidings/content/v1/variant_test";
import { jsonBytes, parseJson } from "@tidings/resource/json-member";
import { jsonAnswer, messageAnswer } from "../route/answer.ts";
import { idInMember, objectBody } from "../route/body-form.ts";
import { entityId, uuid } from "../route/parameter.ts";
import { idIn, type QueryForm } from "../route/query-form.ts";
import { type Route, route } from "../route/route.ts";
import { arrayOf, closed, TEXT, WHOLE_NUMBER } from "../route/schema.ts";
import {
  BROADCAST,
  BROADCAST_SENT,
  BROADCASTS,
  broadcastJson,
  broadcastsJson,
  NOTHING_SENT,
  sentMembers,
} from "./broadcast-json.ts";
import type { RoutesContext } from "./routes-context.ts";
import { isOpenSend } from "./send-progress.ts";

const TO_CONTACT = objectBody({
  type: "object",
  properties: {
    tokens: {
      anyOf: [
        { type: "object", additionalProperties: TEXT },
        { type: "array", maxItems: 0 },
      ],
    },
    assetAttachments: arrayOf(WHOLE_NUMBER),
  },
});
const SENT = jsonAnswer(
  closed({ success: { enum: [1, false] }, failed: TEXT, status: { const: "queued" } }, ["failed", "status"]),
);
const TO_USERS = objectBody({
  type: "object",
  properties: { users: arrayOf(WHOLE_NUMBER), addresses: arrayOf(TEXT), contactId: WHOLE_NUMBER },
});
const TESTED = jsonAnswer(
  closed({ success: { const: true }, recipients: arrayOf(closed({ address: TEXT, state: TEXT })) }),
);
const TO_SEGMENTS = objectBody({
  type: "object",
  properties: {
    ...{ lists: arrayOf(WHOLE_NUMBER), limit: WHOLE_NUMBER, batch: WHOLE_NUMBER },
    winnerAfterHours: {
      ...{ type: "integer", minimum: 1, maximum: 168 },
      description: "The rest of the recipients get the winner of the A/B test after so many hours",
    },
  },
});
const COUNT = { type: "integer", minimum: 0 };
const DRY_RUN_BODY = objectBody({
  type: "object",
  properties: { lists: arrayOf(WHOLE_NUMBER), limit: WHOLE_NUMBER },
});
const DRY_RUN = jsonAnswer(
  closed({
    wouldSend: COUNT,
    excluded: { type: "object", additionalProperties: COUNT },
    samples: arrayOf(closed({ contactId: COUNT, address: TEXT, variant: COUNT })),
  }),
);
const PREVIEW = jsonAnswer(
  closed({
    ...{ subject: TEXT, html: TEXT, text: TEXT, bytes: COUNT },
    headers: arrayOf(closed({ name: TEXT, value: TEXT })),
    links: arrayOf(closed({ url: TEXT, tracked: { type: "boolean" } })),
    warnings: arrayOf(closed({ code: TEXT, message: TEXT })),
  }),
);
const PREVIEW_QUERY: QueryForm<{ contactId: number }> = {
  parameters: [
    {
      name: "contactId",
      description: "The contact; nobody in particular when absent",
      schema: { type: "integer", minimum: 1 },
    },
  ],
  read: ({ contactId }) => ({ contactId: idIn("contactId", contactId) }),
};
const EXPLANATION = jsonAnswer(
  closed({
    verdict: { enum: ["sent", "will", "wont", "unknown"] },
    rules: arrayOf(
      closed({
        rule: {
          enum: ["published", "segment_email", "member", "not_excluded", "address", "allowed", "once"],
        },
        ...{ holds: { type: "boolean" }, since: { type: ["string", "null"] }, detail: TEXT },
      }),
    ),
  }),
);

/** Routes of emails beyond the standard operations: sending them. */
export function emailRoutes({ clients }: RoutesContext): Route[] {
  const emails = clients.of(EmailMethodService);
  const rpc = EmailMethodService.method;
  return [
    route({
      method: "POST",
      path: "/emails/:id/contact/:contactId/send",
      summary: "Send an email to a contact",
      rpc: rpc.sendEmailToContact,
      parameters: {
        id: entityId("emails", "view"),
        contactId: entityId("contacts", "view", { isAskedAnew: true }),
      },
      body: TO_CONTACT,
      budget: "batch",
      answer: SENT,
      async handle({ parameters, body: { tokens, assetAttachments }, options }) {
        const { hash, refusal } = await emails.sendEmailToContact(
          {
            ...parameters,
            ...(tokens !== undefined && { tokens: jsonBytes(tokens) }),
            ...(assetAttachments !== undefined && { assetAttachments: jsonBytes(assetAttachments) }),
          },
          options,
        );
        if (hash === "") return { success: false, failed: refusal };
        return sentJson(await emails.awaitSend({ hash }, options));
      },
    }),
    route({
      method: "GET",
      path: "/emails/:id/preview",
      summary: "Get an email as a contact would get it",
      rpc: rpc.previewEmail,
      parameters: { id: entityId("emails", "view") },
      query: PREVIEW_QUERY,
      answer: PREVIEW,
      errors: [409],
      async handle({ parameters: { id }, query, options }) {
        const { subject, html, text, bytes, headers, links, warnings } = await emails.previewEmail(
          { id, ...query },
          options,
        );
        return {
          ...{ subject, html, text, bytes },
          ...{ headers: parseJson(headers), links: parseJson(links), warnings: parseJson(warnings) },
        };
      },
    }),
    route({
      method: "POST",
      path: "/emails/:id/test",
      summary: "Send an email to users, as a contact would get it",
      rpc: rpc.sendTestEmail,
      parameters: { id: entityId("emails", "view") },
      body: TO_USERS,
      budget: "batch",
      answer: TESTED,
      errors: [409],
      async handle({ parameters: { id }, body: { users, addresses, contactId }, options }) {
        const { recipients } = await emails.sendTestEmail(
          {
            id,
            ...(users !== undefined && { users: jsonBytes(users) }),
            ...(addresses !== undefined && { addresses: jsonBytes(addresses) }),
            contactId: idInMember("contactId", contactId),
          },
          options,
        );
        return { success: true, recipients: parseJson(recipients) };
      },
    }),
    route({
      method: "GET",
      path: "/emails/:id/test",
      summary: "Get how the A/B test of an email stands",
      rpc: rpc.getEmailTest,
      parameters: { id: entityId("emails", "view") },
      answer: messageAnswer("test", EmailTestSchema),
      handle: ({ parameters, options }) => emails.getEmailTest(parameters, options),
    }),
    route({
      method: "POST",
      path: "/emails/:id/winner",
      summary: "Make a variant of an email the winner of its A/B test",
      rpc: rpc.makeEmailWinner,
      parameters: { id: entityId("emails", "edit") },
      answer: messageAnswer("email", EmailSchema),
      handle: ({ parameters, options }) => emails.makeEmailWinner(parameters, options),
    }),
    route({
      method: "GET",
      path: "/emails/:id/contact/:contactId/explain",
      summary: "Get why a contact gets a segment email, or does not",
      rpc: rpc.explainSend,
      parameters: {
        id: entityId("emails", "view"),
        contactId: entityId("contacts", "view", { isAskedAnew: true }),
      },
      answer: EXPLANATION,
      async handle({ parameters, options }) {
        const { verdict, rules } = await emails.explainSend(parameters, options);
        return { verdict, rules: parseJson(rules) };
      },
    }),
    route({
      method: "POST",
      path: "/emails/reply/:hash",
      summary: "Record that a mail was answered",
      rpc: rpc.recordReply,
      parameters: { hash: uuid("Tracking hash of the mail") },
      answer: jsonAnswer(closed({ success: { const: 1 } })),
      async handle({ parameters, options }) {
        await emails.recordReply(parameters, options);
        return { success: 1 };
      },
    }),
    route({
      method: "POST",
      path: "/emails/:id/send",
      summary: "Send a segment email to its segments",
      rpc: rpc.sendEmail,
      parameters: { id: entityId("emails", "view") },
      body: TO_SEGMENTS,
      budget: "batch",
      answer: BROADCAST_SENT,
      errors: [409],
      async handle({ parameters: { id }, body, options }) {
        const { broadcastId } = await emails.sendEmail(
          { id, ...sentMembers(body, ["lists", "limit", "batch", "winnerAfterHours"]) },
          options,
        );
        if (broadcastId === "") return NOTHING_SENT;
        return broadcastJson(
          await emails.getBroadcast({ emailId: id, id: broadcastId, wait: true }, options),
        );
      },
    }),
    route({
      method: "POST",
      path: "/emails/:id/dry-run",
      summary: "Count who would get a segment email",
      rpc: rpc.dryRunEmail,
      isRead: true,
      parameters: { id: entityId("emails", "view") },
      body: DRY_RUN_BODY,
      budget: "batch",
      answer: DRY_RUN,
      async handle({ parameters: { id }, body, options }) {
        const { wouldSend, excluded, samples } = await emails.dryRunEmail(
          { id, ...sentMembers(body, ["lists", "limit"]) },
          options,
        );
        return { wouldSend, excluded: parseJson(excluded), samples: parseJson(samples) };
      },
    }),
    route({
      method: "GET",
      path: "/emails/:emailId/sends",
      summary: "List the sends of an email to segments",
      rpc: rpc.listBroadcasts,
      parameters: { emailId: entityId("emails", "view") },
      answer: BROADCASTS,
      async handle({ parameters, options }) {
        const { broadcasts } = await emails.listBroadcasts(parameters, options);
        return broadcastsJson(broadcasts);
      },
    }),
    route({
      method: "GET",
      path: "/emails/:emailId/sends/:sendId",
      summary: "Get how far a send to segments is",
      rpc: rpc.getBroadcast,
      parameters: { emailId: entityId("emails", "view"), sendId: uuid("Id of the send") },
      answer: BROADCAST,
      handle: ({ parameters: { emailId, sendId }, options }) =>
        emails.getBroadcast({ emailId, id: sendId }, options),
    }),
    ...["pause", "resume", "cancel"].map((action) =>
      route({
        method: "POST",
        path: `/emails/:emailId/sends/:sendId/${action}`,
        summary: `${action.charAt(0).toUpperCase()}${action.slice(1)} a send to segments`,
        operation: `${action}Broadcast`,
        rpc: rpc.controlBroadcast,
        parameters: { emailId: entityId("emails", "edit"), sendId: uuid("Id of the send") },
        answer: BROADCAST,
        errors: [409],
        handle: ({ parameters: { emailId, sendId }, options }) =>
          emails.controlBroadcast({ emailId, id: sendId, action }, options),
      }),
    ),
  ];
}

/** A send that is not decided goes on. One whose outcome nobody knows is not made again. */
function sentJson(progress: SendProgress) {
  const { state, reason } = progress;
  if (state === "sent") return { success: 1 };
  if (isOpenSend(progress)) return { success: 1, status: "queued" };
  return { success: false, failed: reason || state };
}
