import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { EmailMethodService, EmailSchema } from "@tidings/proto/tidings/content/v1/email";
import type { SendProgress } from "@tidings/proto/tidings/content/v1/ledger";
import { EmailTestSchema } from "@tidings/proto/tidings/content/v1/variant_test";
import { jsonBytes, parseJson } from "@tidings/resource/json-member";
import { jsonAnswer } from "../route/answer.ts";
import { idInMember, objectBody } from "../route/body-form.ts";
import { entityId, uuid } from "../route/parameter.ts";
import { idIn, type QueryForm, timeIn } from "../route/query-form.ts";
import { type Route, route } from "../route/route.ts";
import { arrayOf, COUNT, closed, TEXT, WARNINGS, WHOLE_NUMBER } from "../route/schema.ts";
import { sentMembers } from "./broadcast-json.ts";
import { broadcastRoutes } from "./broadcasts.ts";
import type { RoutesContext } from "./routes-context.ts";
import { isOpenSend } from "./send-progress.ts";
import { variantTestRoutes } from "./variant-tests.ts";

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
  examples: [{ tokens: { "{code}": "SPRING" } }],
});
const SENT = jsonAnswer(
  closed({ success: { enum: [1, false] }, failed: TEXT, status: { const: "queued" } }, ["failed", "status"]),
);
const TO_USERS = objectBody({
  type: "object",
  properties: { users: arrayOf(WHOLE_NUMBER), addresses: arrayOf(TEXT), contactId: WHOLE_NUMBER },
  examples: [{ addresses: ["ada@example.com"] }],
});
const TESTED = jsonAnswer(
  closed({ success: { const: true }, recipients: arrayOf(closed({ address: TEXT, state: TEXT })) }),
);
const WINNER = {
  winnerAfterHours: {
    ...{ type: "integer", minimum: 1, maximum: 168 },
    description: "The rest of the recipients get the winner of the A/B test after so many hours",
  },
};
const DRY_RUN_BODY = objectBody({
  type: "object",
  properties: { lists: arrayOf(WHOLE_NUMBER), limit: WHOLE_NUMBER },
  examples: [{ limit: 1_000 }],
});
const DRY_RUN = jsonAnswer(
  closed({
    wouldSend: COUNT,
    excluded: { type: "object", additionalProperties: COUNT },
    samples: arrayOf(closed({ contactId: COUNT, address: TEXT, variant: COUNT })),
    warnings: WARNINGS,
  }),
);
const PREVIEW = jsonAnswer(
  closed({
    ...{ subject: TEXT, html: TEXT, text: TEXT, bytes: COUNT },
    headers: arrayOf(closed({ name: TEXT, value: TEXT })),
    links: arrayOf(closed({ url: TEXT, tracked: { type: "boolean" } })),
    warnings: WARNINGS,
  }),
);
const PREVIEW_QUERY: QueryForm<{ contactId: number; variantId: number; on?: Timestamp }> = {
  parameters: [
    {
      name: "contactId",
      description: "The contact; nobody in particular when absent",
      schema: { type: "integer", minimum: 1 },
    },
    {
      name: "variant",
      description: "A variant or translation of the email, shown in its place",
      schema: { type: "integer", minimum: 1 },
    },
    {
      name: "on",
      description: "The time at which the email is shown; now when absent",
      schema: { type: "string", format: "date-time" },
    },
  ],
  read: ({ contactId, variant, on }) => ({
    contactId: idIn("contactId", contactId),
    variantId: idIn("variant", variant),
    ...(on !== undefined && { on: timeIn("on", on) }),
  }),
};
const EXPLANATION = jsonAnswer(
  closed({
    verdict: { enum: ["sent", "will", "wont", "unknown"] },
    rules: arrayOf(
      closed({
        rule: {
          enum: [
            ...["published", "segment_email", "member", "not_excluded", "address"],
            ...["do_not_contact", "suppression", "category", "pause", "frequency", "once", "other_occasion"],
          ],
        },
        ...{ holds: { type: "boolean" }, since: { type: ["string", "null"] }, detail: TEXT },
      }),
    ),
  }),
);

/** Routes of emails beyond the standard operations: sending them. */
export function emailRoutes({ clients, limits }: RoutesContext): Route[] {
  const emails = clients.of(EmailMethodService);
  const rpc = EmailMethodService.method;
  const { send, broadcasts } = broadcastRoutes({
    ...{ resource: "emails", item: "emailId" },
    words: { entity: "an email", sent: "a segment email", broadcast: "a send" },
    members: WINNER,
    cursors: limits.cursors,
    send: { rpc: rpc.sendEmail, call: emails.sendEmail },
    list: { rpc: rpc.listBroadcasts, call: emails.listBroadcasts },
    get: { rpc: rpc.getBroadcast, call: emails.getBroadcast },
    control: { rpc: rpc.controlBroadcast, call: emails.controlBroadcast },
  });
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
    ...variantTestRoutes("email", {
      words: "an email",
      test: { rpc: rpc.getEmailTest, call: emails.getEmailTest, schema: EmailTestSchema },
      winner: { rpc: rpc.makeEmailWinner, call: emails.makeEmailWinner, schema: EmailSchema },
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
    send,
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
        const { wouldSend, excluded, samples, warnings } = await emails.dryRunEmail(
          { id, ...sentMembers(body, ["lists", "limit"]) },
          options,
        );
        return {
          ...{ wouldSend, excluded: parseJson(excluded) },
          ...{ samples: parseJson(samples), warnings: parseJson(warnings) },
        };
      },
    }),
    ...broadcasts,
  ];
}

/** A send that is not decided goes on. One whose outcome nobody knows is not made again. */
function sentJson(progress: SendProgress) {
  const { state, reason } = progress;
  if (state === "sent") return { success: 1 };
  if (isOpenSend(progress)) return { success: 1, status: "queued" };
  return { success: false, failed: reason || state };
}
