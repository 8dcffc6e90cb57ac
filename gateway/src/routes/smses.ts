import { SmsMethodService } from "@tidings/proto/tidings/content/v1/sms";
import { jsonAnswer } from "../route/answer.ts";
import { entityId } from "../route/parameter.ts";
import { type Route, route } from "../route/route.ts";
import { arrayOf, closed, TEXT } from "../route/schema.ts";
import type { RoutesContext } from "./routes-context.ts";

const SENT = jsonAnswer(
  closed({
    success: { enum: [1, false] },
    status: TEXT,
    errors: arrayOf(closed({ message: TEXT })),
  }),
);

/** Routes of text messages beyond the standard operations: sending them. Older clients send with GET. */
export function smsRoutes({ clients }: RoutesContext): Route[] {
  const smses = clients.of(SmsMethodService);
  return (["GET", "POST"] as const).map((method) =>
    route({
      method,
      path: "/smses/:id/contact/:contactId/send",
      summary: "Send a text message to a contact",
      operation: method === "GET" ? "sendSmsToContactByGet" : "sendSmsToContact",
      rpc: SmsMethodService.method.sendSmsToContact,
      parameters: {
        id: entityId("smses", "view"),
        contactId: entityId("contacts", "view", { isAskedAnew: true }),
      },
      answer: SENT,
      // A GET that sends answers as a write does.
      errors: [409, 412, 422],
      async handle({ parameters, options }) {
        const { isSent, status } = await smses.sendSmsToContact(parameters, options);
        return { success: isSent ? 1 : false, status, errors: isSent ? [] : [{ message: status }] };
      },
    }),
  );
}
