import { EmailMethodService, type Send, SendSchema } from "@tidings/proto/tidings/content/v1/email";
import { NoticeSchema, NoticeService } from "@tidings/proto/tidings/content/v1/notice";
import {
  type ListedNotification,
  ListedNotificationSchema,
  NotificationMethodService,
} from "@tidings/proto/tidings/content/v1/notification";
import { SmsMethodService, type TextSend, TextSendSchema } from "@tidings/proto/tidings/content/v1/sms";
import {
  type ListedTweet,
  ListedTweetSchema,
  TweetMethodService,
} from "@tidings/proto/tidings/content/v1/tweet";
import type { Outgoing } from "@tidings/rpc/client";
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
const writeTweet = messageWriter(ListedTweetSchema);
const writeNotification = messageWriter(ListedNotificationSchema);
const writeNotice = messageWriter(NoticeSchema);
const RESOLVABLE = [SendSchema, TextSendSchema, ListedTweetSchema, ListedNotificationSchema];
const SENDS = textAnswer((components) =>
  closed({
    sends: arrayOf({ anyOf: [...RESOLVABLE, NoticeSchema].map(components.answered) }),
    next: { type: ["string", "null"] },
  }),
);
type Resolved = Send | TextSend | ListedTweet | ListedNotification;
const RESOLVED: Answer<Resolved> = {
  ...messageAnswer<Resolved>("send", SendSchema, { write: writeResolved }),
  describe: (components) => closed({ send: { anyOf: RESOLVABLE.map(components.answered) } }),
};
const SEND_ID: PathParameter<string> = {
  schema: { type: "string", pattern: "^((sms|tweet|notification)-)?[1-9][0-9]{0,17}$" },
  description:
    "Id of a send as the list has it: `1` of an email, `sms-1` of a text message, `tweet-1`, `notification-1`",
  matches: (text) => /^(?:(?:sms|tweet|notification)-)?[1-9]\d{0,17}$/.test(text),
  read: (text) => text,
};
const RESOLUTION = objectBody({
  type: "object",
  properties: { as: { enum: ["sent", "failed", "again"] } },
  required: ["as"],
});
const PAGE = 100;
/** The channels, and the members that name the entity of a send: mails to users and addresses are of an email, too. */
const ITEM_OF = {
  email: "emailId",
  sms: "smsId",
  tweet: "tweetId",
  notification: "notificationId",
  notice: "emailId",
} as const;
type Channel = keyof typeof ITEM_OF;
const CHANNELS = Object.keys(ITEM_OF) as Channel[];
const ITEMS = [...new Set(Object.values(ITEM_OF))];
const itemParameter = (name: string, description: string) => ({
  ...{ name, description },
  schema: { type: "integer", minimum: 1 } as const,
});
/** Exactly one of the entities is named. */
const REPLAYED = ["emailId", "smsId", "tweetId", "notificationId"] as const;
const REPLAY = objectBody({
  type: "object",
  properties: Object.fromEntries([...REPLAYED, "code"].map((name) => [name, WHOLE_NUMBER])),
});
const SENDS_QUERY: QueryForm<{
  channel: Channel;
  emailId: number;
  smsId: number;
  tweetId: number;
  notificationId: number;
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
    itemParameter("emailId", "Sends of this email"),
    itemParameter("smsId", "Sends of this text message, with `channel=sms`"),
    itemParameter("tweetId", "Sends of this tweet, with `channel=tweet`"),
    itemParameter("notificationId", "Sends of this notification, with `channel=notification`"),
    { name: "contactId", description: "Sends to this contact", schema: { type: "integer", minimum: 1 } },
    { name: "state", description: "Sends in this state", schema: TEXT },
    { name: "limit", description: "At most so many, 500 at most", schema: { type: "integer", minimum: 1 } },
    { name: "after", description: "Sends behind this id, as `next` of the page before says", schema: TEXT },
  ],
  read({ channel: named = "email", contactId, state = "", limit, after = "", ...asked }) {
    const channel = CHANNELS.find((one) => one === named);
    if (!channel) throw badRequest(`channel is one of ${CHANNELS.join(", ")}.`);
    const odd = ITEMS.find((name) => asked[name] !== undefined && name !== ITEM_OF[channel]);
    if (odd) throw badRequest(`${odd} goes with channel=${CHANNELS.find((one) => ITEM_OF[one] === odd)}.`);
    const item = (name: (typeof ITEMS)[number]) => idIn(name, asked[name]);
    return {
      channel,
      emailId: item("emailId"),
      smsId: item("smsId"),
      tweetId: item("tweetId"),
      notificationId: item("notificationId"),
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
  const tweets = clients.of(TweetMethodService);
  const notifications = clients.of(NotificationMethodService);
  const notices = clients.of(NoticeService);
  const rpc = EmailMethodService.method;
  const replay = (
    member: (typeof REPLAYED)[number],
    id: number,
    code: number,
    options: Outgoing,
  ): Promise<{ jobId: string }> => {
    switch (member) {
      case "emailId":
        return emails.replaySends({ emailId: id, code }, options);
      case "smsId":
        return smses.replaySmsSends({ smsId: id, code }, options);
      case "tweetId":
        return tweets.replayTweetSends({ tweetId: id, code }, options);
      case "notificationId":
        return notifications.replayNotificationSends({ notificationId: id, code }, options);
    }
  };
  return [
    route({
      method: "GET",
      path: "/sends",
      summary:
        "List sends of an email, a text message, a tweet, a notification or a contact, the latest first",
      rpc: rpc.listSends,
      right: {
        ...{ base: "email:emails", verb: "view" },
        orElse:
          "that of the channel besides emails: `sms:smses:view` with `channel=sms`, `svcSocial:tweets:view`, `notification:notifications:view`",
      },
      query: SENDS_QUERY,
      answer: SENDS,
      async handle({ query: { channel, ...asked }, options }) {
        switch (channel) {
          case "email":
            return pageOf(await emails.listSends(asked, options), writeSend);
          case "sms":
            return pageOf(await smses.listSmsSends(asked, options), writeText);
          case "tweet":
            return pageOf(await tweets.listTweetSends(asked, options), writeTweet);
          case "notification":
            return pageOf(await notifications.listNotificationSends(asked, options), writeNotification);
          case "notice": {
            const { notices: sends, next } = await notices.listNotices(asked, options);
            return pageOf({ sends, next }, writeNotice);
          }
        }
      },
    }),
    route({
      method: "POST",
      path: "/sends/replay",
      summary: "Try failed sends of an email, a text message, a tweet or a notification again",
      rpc: rpc.replaySends,
      right: {
        ...{ base: "email:emails", verb: "edit" },
        orElse:
          "that of the channel besides emails: `sms:smses:edit`, `svcSocial:tweets:edit`, `notification:notifications:edit`",
      },
      body: REPLAY,
      answer: jsonAnswer(closed({ success: { const: 1 }, job: closed({ id: TEXT }) })),
      errors: [404, 409],
      async handle({ body, options }) {
        const [member = "emailId", ...others] = REPLAYED.filter((name) => body[name] !== undefined);
        if (others.length > 0) throw badRequest(`${member} does not go with ${others.join(", ")}.`);
        const id = idInMember(member, body[member]);
        const code = idInMember("code", body.code);
        const { jobId } = await replay(member, id, code, options);
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
        orElse:
          "that of the channel besides emails: `sms:smses:edit`, `svcSocial:tweets:edit`, `notification:notifications:edit`",
      },
      parameters: { id: SEND_ID },
      body: RESOLUTION,
      answer: RESOLVED,
      errors: [409],
      async handle({ parameters: { id }, body, options }) {
        const asked = { id, as: String(body.as ?? "") };
        const [channel] = id.split("-");
        if (channel === "sms") return smses.resolveSmsSend(asked, options);
        if (channel === "tweet") return tweets.resolveTweetSend(asked, options);
        if (channel === "notification") return notifications.resolveNotificationSend(asked, options);
        return emails.resolveSend(asked, options);
      },
    }),
  ];
}

function writeResolved(send: Resolved): string {
  switch (send.$typeName) {
    case SendSchema.typeName:
      return writeSend(send);
    case TextSendSchema.typeName:
      return writeText(send);
    case ListedTweetSchema.typeName:
      return writeTweet(send);
    default:
      return writeNotification(send);
  }
}

/** A page, whose rows are written as JSON. */
function pageOf<S>({ sends, next }: { sends: S[]; next: string }, write: (send: S) => string): string {
  return `{"sends":[${sends.map((send) => write(send)).join(",")}],"next":${JSON.stringify(next || null)}}`;
}
