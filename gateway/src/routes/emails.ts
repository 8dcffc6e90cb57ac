import { EmailMethodService, type SendProgress } from "@tidings/proto/tidings/content/v1/email";
import { jsonBytes } from "@tidings/resource/json-member";
import { jsonAnswer } from "../route/answer.ts";
import { objectBody } from "../route/body-form.ts";
import { entityId } from "../route/parameter.ts";
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
  ];
}

/** A send that is not decided goes on. One whose outcome nobody knows is not made again. */
function sentJson({ state, reason }: SendProgress) {
  if (state === "sent") return { success: 1 };
  if (OPEN.has(state)) return { success: 1, status: "queued" };
  return { success: false, failed: reason || state };
}
