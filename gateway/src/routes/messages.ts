import { MarketingMessageMethodService } from "@tidings/proto/tidings/content/v1/marketing_message";
import type { SendOutcome } from "@tidings/proto/tidings/content/v1/send";
import { jsonAnswer } from "../route/answer.ts";
import { entityId } from "../route/parameter.ts";
import { type Route, route } from "../route/route.ts";
import { closed, TEXT } from "../route/schema.ts";
import type { RoutesContext } from "./routes-context.ts";
import { isOpenSend } from "./send-progress.ts";

const SENT = jsonAnswer(
  closed(
    {
      success: { enum: [1, false] },
      channel: { type: ["string", "null"] },
      status: { enum: ["sent", "queued", "failed", "unknown"] },
      reason: TEXT,
      failed: { type: "object", additionalProperties: TEXT },
    },
    ["reason"],
  ),
);

/** Routes of marketing messages beyond the standard operations: sending them. */
export function messageRoutes({ clients }: RoutesContext): Route[] {
  const messages = clients.of(MarketingMessageMethodService);
  return [
    route({
      method: "POST",
      path: "/messages/:id/contact/:contactId/send",
      summary: "Send a marketing message to a contact in the channel that it prefers",
      rpc: MarketingMessageMethodService.method.sendMessageToContact,
      parameters: {
        id: entityId("messages", "view"),
        contactId: entityId("contacts", "view", { isAskedAnew: true }),
      },
      budget: "batch",
      answer: SENT,
      async handle({ parameters, options }) {
        const { hash, refusal } = await messages.sendMessageToContact(parameters, options);
        if (hash === "")
          return { success: false, channel: null, status: "failed", reason: refusal, failed: {} };
        return answerOf(await messages.awaitMessageSend({ hash }, options));
      },
    }),
  ];
}

/** One whose outcome nobody knows is not sent in another channel. */
function answerOf(outcome: SendOutcome) {
  const { state, reason, channel, tried } = outcome;
  const failed = Object.fromEntries(tried.map((one) => [one.channel, one.reason]));
  const said = { channel: channel || null, failed };
  if (state === "sent") return { success: 1, status: "sent", ...said };
  if (isOpenSend(outcome)) return { success: 1, status: "queued", ...said };
  const status = state === "unknown" ? "unknown" : "failed";
  return { success: false, status, ...said, ...(reason && { reason }) };
}
