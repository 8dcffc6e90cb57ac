import { EmailMethodService, EmailSchema } from "@tidings/proto/tidings/content/v1/email";
import type { SendProgress } from "@tidings/proto/tidings/content/v1/ledger";
import { EmailTestSchema } from "@tidings/proto/tidings/content/v1/variant_test";
import { jsonBytes, parseJson } from "@tidings/resource/json-member";
import type { RpcClient } from "@tidings/rpc/client";
import { jsonAnswer } from "../route/answer.ts";
import { idInMember, objectBody } from "../route/body-form.ts";
import { entityId, uuid } from "../route/parameter.ts";
import { type Route, route } from "../route/route.ts";
import { arrayOf, closed, TEXT, WHOLE_NUMBER } from "../route/schema.ts";
import { broadcastRoutes } from "./broadcasts.ts";
import { emailPreviewRoutes } from "./email-previews.ts";
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
    ...singleMailRoutes(emails),
    ...emailPreviewRoutes(emails),
    ...variantTestRoutes("email", {
      words: "an email",
      test: { rpc: rpc.getEmailTest, call: emails.getEmailTest, schema: EmailTestSchema },
      winner: { rpc: rpc.makeEmailWinner, call: emails.makeEmailWinner, schema: EmailSchema },
    }),
    send,
    ...broadcasts,
  ];
}

/** Mails to a contact and to users, and what came back for one mail. */
function singleMailRoutes(emails: RpcClient<typeof EmailMethodService>): Route[] {
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
    replyRoute(emails),
  ];
}

function replyRoute(emails: RpcClient<typeof EmailMethodService>): Route {
  return route({
    method: "POST",
    path: "/emails/reply/:hash",
    summary: "Record that a mail was answered",
    rpc: EmailMethodService.method.recordReply,
    parameters: { hash: uuid("Tracking hash of the mail") },
    answer: jsonAnswer(closed({ success: { const: 1 } })),
    async handle({ parameters, options }) {
      await emails.recordReply(parameters, options);
      return { success: 1 };
    },
  });
}

/** A send that is not decided goes on. One whose outcome nobody knows is not made again. */
function sentJson(progress: SendProgress) {
  const { state, reason } = progress;
  if (state === "sent") return { success: 1 };
  if (isOpenSend(progress)) return { success: 1, status: "queued" };
  return { success: false, failed: reason || state };
}
