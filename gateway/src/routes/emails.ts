import {
  type Broadcast,
  BroadcastSchema,
  EmailMethodService,
  type SendProgress,
  SendSchema,
} from "@tidings/proto/tidings/content/v1/email";
import { jsonBytes, parseJson } from "@tidings/resource/json-member";
import { badRequest } from "@tidings/rpc/fault";
import { messageWriter } from "../rest/message-json.ts";
import { ID_MAX } from "../rest/path-id.ts";
import { jsonAnswer, messageAnswer, textAnswer } from "../route/answer.ts";
import { objectBody } from "../route/body-form.ts";
import { entityId, id, uuid } from "../route/parameter.ts";
import type { QueryForm } from "../route/query-form.ts";
import { type Route, route } from "../route/route.ts";
import { arrayOf, closed, TEXT, WHOLE_NUMBER } from "../route/schema.ts";
import type { RoutesContext } from "./routes-context.ts";

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
const TO_SEGMENTS = objectBody({
  type: "object",
  properties: { lists: arrayOf(WHOLE_NUMBER), limit: WHOLE_NUMBER, batch: WHOLE_NUMBER },
});
const COUNT = { type: "integer", minimum: 0 };
const BROADCAST_SENT = jsonAnswer(
  closed(
    {
      success: { const: 1 },
      ...{ sentCount: COUNT, failedCount: COUNT, failedRecipients: COUNT, queuedCount: COUNT },
      send: closed({ id: TEXT }),
    },
    ["send"],
  ),
);
const BROADCAST = messageAnswer("send", BroadcastSchema);
const writeBroadcast = messageWriter(BroadcastSchema);
const BROADCASTS = textAnswer((components) =>
  closed({ sends: arrayOf(components.answered(BroadcastSchema)) }),
);
const writeSend = messageWriter(SendSchema);
const SENDS = textAnswer((components) =>
  closed({ sends: arrayOf(components.answered(SendSchema)), next: { type: ["string", "null"] } }),
);
const RESOLUTION = objectBody({
  type: "object",
  properties: { as: { enum: ["sent", "failed", "again"] } },
  required: ["as"],
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
        rule: { enum: ["published", "segment_email", "member", "address", "allowed", "once"] },
        ...{ holds: { type: "boolean" }, since: { type: ["string", "null"] }, detail: TEXT },
      }),
    ),
  }),
);
const NOTHING_SENT = { success: 1, sentCount: 0, failedCount: 0, failedRecipients: 0, queuedCount: 0 };
const OPEN = new Set(["waiting", "started"]);

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
        const { broadcastId } = await emails.sendEmail({ id, ...sentMembers(body) }, options);
        if (broadcastId === "") return NOTHING_SENT;
        return broadcastJson(
          await emails.getBroadcast({ emailId: id, id: broadcastId, wait: true }, options),
        );
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
        return `{"sends":[${broadcasts.map((broadcast) => writeBroadcast(broadcast)).join(",")}]}`;
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

/** 0 where it is not sent. */
function idIn(name: string, value: unknown): number {
  if (value === undefined) return 0;
  const id = Number(value);
  if (typeof value === "string" && Number.isInteger(id) && id >= 1 && id <= ID_MAX) return id;
  throw badRequest(`${name} is a whole number from 1 to ${ID_MAX}.`);
}

/** Members that the service reads, as JSON. */
function sentMembers(body: Record<string, unknown>): Record<string, Uint8Array> {
  const sent = Object.entries(body).filter(([name]) => ["lists", "limit", "batch"].includes(name));
  return Object.fromEntries(sent.map(([name, value]) => [name, jsonBytes(value)]));
}

/** A recipient who waits is neither sent to nor failed. */
function broadcastJson({ id, sent, failed, suppressed, queued, deferred, sending }: Broadcast) {
  return {
    success: 1,
    ...{ sentCount: sent, failedCount: failed + suppressed, failedRecipients: failed + suppressed },
    queuedCount: queued + deferred + sending,
    send: { id },
  };
}

/** A send that is not decided goes on. One whose outcome nobody knows is not made again. */
function sentJson({ state, reason }: SendProgress) {
  if (state === "sent") return { success: 1 };
  if (OPEN.has(state)) return { success: 1, status: "queued" };
  return { success: false, failed: reason || state };
}
