import type { SendProgress } from "@tidings/proto/tidings/content/v1/ledger";
import {
  type SendSmsToContactResponse,
  SmsMethodService,
  SmsRefusal,
} from "@tidings/proto/tidings/content/v1/sms";
import { jsonAnswer } from "../route/answer.ts";
import { entityId } from "../route/parameter.ts";
import { type Route, route } from "../route/route.ts";
import { arrayOf, closed, SWITCH, TEXT, WHOLE_NUMBER } from "../route/schema.ts";
import { broadcastRoutes } from "./broadcasts.ts";
import type { RoutesContext } from "./routes-context.ts";
import { isOpenSend } from "./send-progress.ts";

const RESULT = closed(
  { sent: SWITCH, type: TEXT, status: TEXT, id: WHOLE_NUMBER, name: TEXT, content: TEXT, statId: TEXT },
  ["content", "statId"],
);
const SENT = jsonAnswer(
  closed(
    {
      success: { enum: [1, false] },
      status: TEXT,
      result: RESULT,
      errors: arrayOf(closed({ message: TEXT })),
      error: closed({ message: TEXT, code: WHOLE_NUMBER }),
    },
    ["result", "error"],
  ),
);

/** A status in words, and its key for clients that translate it; words of others are their own key. */
interface Status {
  key: string;
  text: string;
}

const DELIVERED = { key: "svc.sms.timeline.status.delivered", text: "Delivered" };
const SCHEDULED = { key: "svc.sms.timeline.status.scheduled", text: "Scheduled" };
const UNPUBLISHED = {
  key: "svc.sms.campaign.failed.unpublished",
  text: "The specified SMS was unpublished.",
};
const NOT_CONTACTABLE = {
  key: "svc.sms.campaign.failed.not_contactable",
  text: "Contact is not contactable on the SMS channel.",
};
const MISSING_NUMBER = {
  key: "svc.sms.campaign.failed.missing_number",
  text: "Missing phone number for contact.",
};
const NO_TRANSPORT = "SMS transport is disabled.";
const EXPECTATION_FAILED = 417;

/** Routes of text messages beyond the standard operations: sending them. Older clients send with GET. */
export function smsRoutes({ clients, limits }: RoutesContext): Route[] {
  const smses = clients.of(SmsMethodService);
  const rpc = SmsMethodService.method;
  const toContact = (["GET", "POST"] as const).map((method) =>
    route({
      method,
      path: "/smses/:id/contact/:contactId/send",
      summary: "Send a text message to a contact",
      operation: method === "GET" ? "sendSmsToContactByGet" : "sendSmsToContact",
      rpc: rpc.sendSmsToContact,
      parameters: {
        id: entityId("smses", "view"),
        contactId: entityId("contacts", "view", { isAskedAnew: true }),
      },
      budget: "batch",
      answer: SENT,
      // A GET that sends answers as a write does.
      errors: [409, 412, 422],
      async handle({ parameters, options }) {
        const sent = await smses.sendSmsToContact(parameters, options);
        if (sent.refusal === SmsRefusal.NO_TRANSPORT) return noTransport();
        const { hash } = sent;
        const progress = hash ? await smses.awaitSmsSend({ hash }, options) : undefined;
        return answerOf(parameters.id, sent, progress);
      },
    }),
  );
  const { send, broadcasts } = broadcastRoutes({
    ...{ resource: "smses", item: "smsId" },
    words: { entity: "a text message", sent: "a text message", broadcast: "a send of a text message" },
    cursors: limits.cursors,
    send: { rpc: rpc.sendSms, call: smses.sendSms },
    list: { rpc: rpc.listSmsBroadcasts, call: smses.listSmsBroadcasts },
    get: { rpc: rpc.getSmsBroadcast, call: smses.getSmsBroadcast },
    control: { rpc: rpc.controlSmsBroadcast, call: smses.controlSmsBroadcast },
  });
  return [...toContact, send, ...broadcasts];
}

/** Clients look for the error inside, or for what other answers have (conventions.md). */
function noTransport() {
  return {
    ...{ success: false, status: NO_TRANSPORT, errors: [{ message: NO_TRANSPORT }] },
    error: { message: NO_TRANSPORT, code: EXPECTATION_FAILED },
  };
}

function answerOf(id: number, sent: SendSmsToContactResponse, progress: SendProgress | undefined) {
  const { name, content, hash } = sent;
  const { key, text } = statusOf(sent, progress);
  const isRefused = key !== DELIVERED.key && key !== SCHEDULED.key;
  return {
    success: isRefused ? false : 1,
    status: text,
    result: {
      ...{ sent: key === DELIVERED.key, type: "svc.sms.sms", status: key, id, name },
      ...(hash && { content, statId: hash }),
    },
    errors: isRefused ? [{ message: text }] : [],
  };
}

function statusOf({ refusal, reason }: SendSmsToContactResponse, progress?: SendProgress): Status {
  if (refusal === SmsRefusal.UNPUBLISHED) return UNPUBLISHED;
  if (refusal === SmsRefusal.NOT_CONTACTABLE) return NOT_CONTACTABLE;
  if (refusal === SmsRefusal.NOT_WRITTEN) return { key: reason, text: reason };
  if (!progress || isOpenSend(progress)) return SCHEDULED;
  if (progress.state === "sent") return DELIVERED;
  if (progress.state === "suppressed") return NOT_CONTACTABLE;
  if (progress.reason === MISSING_NUMBER.text) return MISSING_NUMBER;
  const text = progress.reason || progress.state;
  return { key: text, text };
}
