import {
  type SendSmsToContactResponse,
  SmsMethodService,
  SmsRefusal,
  type SmsSendProgress,
} from "@tidings/proto/tidings/content/v1/sms";
import type { RpcClient } from "@tidings/rpc/client";
import { jsonAnswer } from "../route/answer.ts";
import { objectBody } from "../route/body-form.ts";
import { entityId, uuid } from "../route/parameter.ts";
import { type Route, route } from "../route/route.ts";
import { arrayOf, closed, SWITCH, TEXT, WHOLE_NUMBER } from "../route/schema.ts";
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

const TO_SEGMENTS = objectBody({
  type: "object",
  properties: { lists: arrayOf(WHOLE_NUMBER), limit: WHOLE_NUMBER, batch: WHOLE_NUMBER },
});

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
export function smsRoutes({ clients }: RoutesContext): Route[] {
  const smses = clients.of(SmsMethodService);
  const toContact = (["GET", "POST"] as const).map((method) =>
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
  return [...toContact, ...broadcastRoutes(smses)];
}

/** Sends of a text message to its segments. */
function broadcastRoutes(smses: RpcClient<typeof SmsMethodService>): Route[] {
  const rpc = SmsMethodService.method;
  return [
    route({
      method: "POST",
      path: "/smses/:id/send",
      summary: "Send a text message to its segments",
      rpc: rpc.sendSms,
      parameters: { id: entityId("smses", "view") },
      body: TO_SEGMENTS,
      budget: "batch",
      answer: BROADCAST_SENT,
      errors: [409],
      async handle({ parameters: { id }, body, options }) {
        const sent = { id, ...sentMembers(body, ["lists", "limit", "batch"]) };
        const { broadcastId } = await smses.sendSms(sent, options);
        if (broadcastId === "") return NOTHING_SENT;
        return broadcastJson(
          await smses.getSmsBroadcast({ smsId: id, id: broadcastId, wait: true }, options),
        );
      },
    }),
    route({
      method: "GET",
      path: "/smses/:smsId/sends",
      summary: "List the sends of a text message to segments",
      rpc: rpc.listSmsBroadcasts,
      parameters: { smsId: entityId("smses", "view") },
      answer: BROADCASTS,
      async handle({ parameters, options }) {
        return broadcastsJson((await smses.listSmsBroadcasts(parameters, options)).broadcasts);
      },
    }),
    route({
      method: "GET",
      path: "/smses/:smsId/sends/:sendId",
      summary: "Get how far a send of a text message to segments is",
      rpc: rpc.getSmsBroadcast,
      parameters: { smsId: entityId("smses", "view"), sendId: uuid("Id of the send") },
      answer: BROADCAST,
      handle: ({ parameters: { smsId, sendId }, options }) =>
        smses.getSmsBroadcast({ smsId, id: sendId }, options),
    }),
    ...["pause", "resume", "cancel"].map((action) =>
      route({
        method: "POST",
        path: `/smses/:smsId/sends/:sendId/${action}`,
        summary: `${action.charAt(0).toUpperCase()}${action.slice(1)} a send of a text message to segments`,
        operation: `${action}SmsBroadcast`,
        rpc: rpc.controlSmsBroadcast,
        parameters: { smsId: entityId("smses", "edit"), sendId: uuid("Id of the send") },
        answer: BROADCAST,
        errors: [409],
        handle: ({ parameters: { smsId, sendId }, options }) =>
          smses.controlSmsBroadcast({ smsId, id: sendId, action }, options),
      }),
    ),
  ];
}

/** Clients look for the error inside, or for what other answers have (conventions.md). */
function noTransport() {
  return {
    ...{ success: false, status: NO_TRANSPORT, errors: [{ message: NO_TRANSPORT }] },
    error: { message: NO_TRANSPORT, code: EXPECTATION_FAILED },
  };
}

function answerOf(id: number, sent: SendSmsToContactResponse, progress: SmsSendProgress | undefined) {
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

function statusOf({ refusal, reason }: SendSmsToContactResponse, progress?: SmsSendProgress): Status {
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
