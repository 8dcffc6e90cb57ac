import { EmailMethodService, type Send, SendSchema } from "@tidings/proto/tidings/content/v1/email";
import { NoticeSchema, NoticeService } from "@tidings/proto/tidings/content/v1/notice";
import { SmsMethodService, type TextSend, TextSendSchema } from "@tidings/proto/tidings/content/v1/sms";
import { badRequest } from "@tidings/rpc/fault";
import { messageWriter } from "../rest/message-json.ts";
import { type Answer, jsonAnswer, messageAnswer, textAnswer } from "../route/answer.ts";
import { idInMember, objectBody } from "../route/body-form.ts";
import type { PathParameter } from "../route/parameter.ts";
import { idIn, type QueryForm } from "../route/query-form.ts";
import { type Route, route } from "../route/route.ts";
import { arrayOf, closed, TEXT, WHOLE_NUMBER } from "../route/schema.ts";
import type { RoutesContext } from "./routes-context.ts";

const writeSend = messageWriter(SendSchema);
const writeText = messageWriter(TextSendSchema);
const writeNotice = messageWriter(NoticeSchema);
const SENDS = textAnswer((components) =>
  closed({
    sends: arrayOf({ anyOf: [SendSchema, TextSendSchema, NoticeSchema].map(components.answered) }),
    next: { type: ["string", "null"] },
  }),
);
const RESOLVED: Answer<Send | TextSend> = {
  ...messageAnswer<Send | TextSend>("send", SendSchema, {
    write: (send) => (send.$typeName === TextSendSchema.typeName ? writeText : writeSend)(send),
  }),
  describe: (components) =>
    closed({ send: { anyOf: [SendSchema, TextSendSchema].map(components.answered) } }),
};
/** The ids of text messages in the ledger begin with this. */
const OF_TEXTS = "sms-";
const SEND_ID: PathParameter<string> = {
  schema: { type: "string", pattern: "^(sms-)?[1-9][0-9]{0,17}$" },
  description: "Id of a send as the list has it: `1` of an email, `sms-1` of a text message",
  matches: (text) => /^(?:sms-)?[1-9]\d{0,17}$/.test(text),
  read: (text) => text,
};
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
const CHANNELS = ["email", "sms", "notice"] as const;
type Channel = (typeof CHANNELS)[number];
const SENDS_QUERY: QueryForm<{
  channel: Channel;
  emailId: number;
  smsId: number;
  contactId: number;
  state: string;
  after: string;
  pageSize: number;
}> = {
  parameters: [
    {
      name: "channel",
      description: "`email` when absent; `notice`: mails to users and addresses, for administrators",
      schema: { enum: CHANNELS },
    },
    { name: "emailId", description: "Sends of this email", schema: { type: "integer", minimum: 1 } },
    {
      name: "smsId",
      description: "Sends of this text message, with `channel=sms`",
      schema: { type: "integer", minimum: 1 },
    },
    { name: "contactId", description: "Sends to this contact", schema: { type: "integer", minimum: 1 } },
    { name: "state", description: "Sends in this state", schema: TEXT },
    { name: "limit", description: "At most so many, 500 at most", schema: { type: "integer", minimum: 1 } },
    { name: "after", description: "Sends behind this id, as `next` of the page before says", schema: TEXT },
  ],
  read({ channel: named = "email", emailId, smsId, contactId, state = "", limit, after = "" }) {
    const channel = CHANNELS.find((one) => one === named);
    if (!channel) throw badRequest(`channel is one of ${CHANNELS.join(", ")}.`);
    if (smsId !== undefined && channel !== "sms") throw badRequest("smsId goes with channel=sms.");
    if (emailId !== undefined && channel === "sms") throw badRequest("emailId does not go with channel=sms.");
    return {
      channel,
      emailId: idIn("emailId", emailId),
      smsId: idIn("smsId", smsId),
      contactId: idIn("contactId", contactId),
      state: String(state),
      after: String(after),
      pageSize: limit === undefined ? PAGE : idIn("limit", limit),
    };
  },
};

/** Routes of the ledger: what became of each mail and each text message. */
export function sendRoutes({ clients }: RoutesContext): Route[] {
  const emails = clients.of(EmailMethodService);
  const smses = clients.of(SmsMethodService);
  const notices = clients.of(NoticeService);
  const rpc = EmailMethodService.method;
  return [
    route({
      method: "GET",
      path: "/sends",
      summary: "List sends of an email, a text message or a contact, the latest first",
      rpc: rpc.listSends,
      right: {
        ...{ base: "email:emails", verb: "view" },
        orElse: "`sms:smses:view` with `channel=sms`",
      },
      query: SENDS_QUERY,
      answer: SENDS,
      async handle({ query: { channel, ...asked }, options }) {
        switch (channel) {
          case "email": {
            const { sends, next } = await emails.listSends(asked, options);
            return pageOf(
              sends.map((send) => writeSend(send)),
              next,
            );
          }
          case "sms": {
            const { sends, next } = await smses.listSmsSends(asked, options);
            return pageOf(
              sends.map((send) => writeText(send)),
              next,
            );
          }
          case "notice": {
            const page = await notices.listNotices(asked, options);
            return pageOf(
              page.notices.map((notice) => writeNotice(notice)),
              page.next,
            );
          }
        }
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
      right: {
        ...{ base: "email:emails", verb: "edit" },
        orElse: "`sms:smses:edit` for text messages",
      },
      parameters: { id: SEND_ID },
      body: RESOLUTION,
      answer: RESOLVED,
      errors: [409],
      async handle({ parameters: { id }, body, options }) {
        const asked = { id, as: String(body.as ?? "") };
        return id.startsWith(OF_TEXTS)
          ? smses.resolveSmsSend(asked, options)
          : emails.resolveSend(asked, options);
      },
    }),
  ];
}

/** A page of rows that are JSON already. */
function pageOf(rows: string[], next: string): string {
  return `{"sends":[${rows.join(",")}],"next":${JSON.stringify(next || null)}}`;
}
