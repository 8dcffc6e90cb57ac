import type { Message } from "@bufbuild/protobuf";
import { EmailMethodService, SendSchema } from "@tidings/proto/tidings/content/v1/email";
import { NoticeSchema, NoticeService } from "@tidings/proto/tidings/content/v1/notice";
import {
  ListedNotificationSchema,
  NotificationMethodService,
} from "@tidings/proto/tidings/content/v1/notification";
import { type SendHold, SendHoldService } from "@tidings/proto/tidings/content/v1/send_hold";
import { SmsMethodService, TextSendSchema } from "@tidings/proto/tidings/content/v1/sms";
import { ListedTweetSchema, TweetMethodService } from "@tidings/proto/tidings/content/v1/tweet";
import type { Outgoing, RpcClient } from "@tidings/rpc/client";
import { badRequest } from "@tidings/rpc/fault";
import type { Clients } from "../clients.ts";
import type { Cursors } from "../rest/cursor.ts";
import { linkNext, positionOf, sentCursor } from "../rest/cursor-page.ts";
import { messageWriter } from "../rest/message-json.ts";
import { type Answer, jsonAnswer, messageAnswer, textAnswer } from "../route/answer.ts";
import { idInMember, objectBody } from "../route/body-form.ts";
import type { PathParameter } from "../route/parameter.ts";
import { CURSOR, idIn, type QueryForm } from "../route/query-form.ts";
import type { Right } from "../route/right.ts";
import { type Route, route } from "../route/route.ts";
import { arrayOf, closed, TEXT, WHOLE_NUMBER } from "../route/schema.ts";
import type { RoutesContext } from "./routes-context.ts";

const RESOLVABLE = [SendSchema, TextSendSchema, ListedTweetSchema, ListedNotificationSchema];
const LISTED = [...RESOLVABLE, NoticeSchema];
const WRITERS = new Map<string, (send: Message) => string>(
  LISTED.map((schema) => [schema.typeName, messageWriter(schema)]),
);
const SENDS: Answer<string> = {
  ...textAnswer((components) =>
    closed({
      sends: arrayOf({ anyOf: LISTED.map(components.answered) }),
      next: { type: ["string", "null"] },
    }),
  ),
  headers: ["Link"],
};
const RESOLVED: Answer<Message> = {
  ...messageAnswer<Message>("send", SendSchema, { write: sendJson }),
  describe: (components) => closed({ send: { anyOf: RESOLVABLE.map(components.answered) } }),
};
const HOLD = jsonAnswer(closed({ hold: closed({ held: { type: "boolean" } }) }));
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
  examples: [{ as: "sent" }],
});
const PAGE = 100;
/** The channels whose messages contacts get. Mails to users and addresses are listed alone. */
const TO_CONTACTS = ["email", "sms", "tweet", "notification"] as const;
type ToContacts = (typeof TO_CONTACTS)[number];
type Channel = ToContacts | "notice";
const CHANNELS: Channel[] = [...TO_CONTACTS, "notice"];
/** The member that names the entity of a send: mails to users and addresses are of an email, too. */
const itemOf = (channel: Channel) => `${channel === "notice" ? "email" : channel}Id` as const;
const itemParameter = (name: string, description: string) => ({
  ...{ name, description },
  schema: { type: "integer", minimum: 1 } as const,
});
/** Exactly one of the entities is named. */
const REPLAY = objectBody({
  type: "object",
  properties: {
    ...Object.fromEntries([...TO_CONTACTS.map(itemOf), "code"].map((name) => [name, WHOLE_NUMBER])),
    ...Object.fromEntries(["occasion", "from", "to"].map((name) => [name, TEXT])),
  },
  examples: [{ emailId: 1, code: 421 }],
});
const FILTER = [
  { name: "occasion", description: "Sends of this occasion: `list`, `direct:…`", schema: TEXT },
  {
    name: "code",
    description: "Sends with this code of the server or provider",
    schema: { type: "integer", minimum: 1 } as const,
  },
  { name: "from", description: "Sends that were chosen at this moment or later", schema: TEXT },
  { name: "to", description: "Sends that were chosen before this moment", schema: TEXT },
];
/** A filter of a ledger, as every channel reads it. */
interface AskedFilter {
  occasion: string;
  code: number;
  from: string;
  to: string;
}
/** Reads a filter of a query or a body. */
function filterIn({ occasion, from, to }: Record<string, unknown>, code: number): AskedFilter {
  const text = (name: string, value: unknown = "") => {
    if (typeof value !== "string" && value !== null) throw badRequest(`${name} is a text.`);
    return value ?? "";
  };
  return { occasion: text("occasion", occasion), code, from: text("from", from), to: text("to", to) };
}
/** A page of a ledger, as every channel is asked for it. */
interface Asked extends AskedFilter {
  itemId: number;
  contactId: number;
  state: string;
  after: string;
  pageSize: number;
}
const SENDS_QUERY: QueryForm<Asked & { channel: Channel; cursor: string | undefined }> = {
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
    {
      name: "state",
      description:
        "Sends in this state: queued, deferred, sending, unknown, sent, failed, suppressed, cancelled",
      schema: TEXT,
    },
    ...FILTER,
    { name: "limit", description: "At most so many, 500 at most", schema: { type: "integer", minimum: 1 } },
    { name: "after", description: "Sends behind this id, as `next` of the page before says", schema: TEXT },
    CURSOR,
  ],
  read({ channel: named = "email", contactId, state = "", limit, after = "", cursor: sent, ...asked }) {
    const cursor = sentCursor({ cursor: sent });
    if (cursor !== undefined && after !== "")
      throw badRequest("A page is at a cursor or behind an id, not at both.");
    const channel = CHANNELS.find((one) => one === named);
    if (!channel) throw badRequest(`channel is one of ${CHANNELS.join(", ")}.`);
    const item = itemOf(channel);
    const odd = TO_CONTACTS.find((one) => itemOf(one) !== item && asked[itemOf(one)] !== undefined);
    if (odd) throw badRequest(`${itemOf(odd)} goes with channel=${odd}.`);
    return {
      channel,
      cursor,
      itemId: idIn(item, asked[item]),
      contactId: idIn("contactId", contactId),
      ...filterIn(asked, idIn("code", asked.code)),
      state: String(state),
      after: String(after),
      pageSize: limit === undefined ? PAGE : idIn("limit", limit),
    };
  },
};

/** The ledger of a channel. */
interface Ledger {
  list(asked: Asked, options: Outgoing): Promise<{ sends: Message[]; next: string }>;
  replay(asked: AskedFilter & { itemId: number }, options: Outgoing): Promise<{ jobId: string }>;
  resolve(asked: { id: string; as: string }, options: Outgoing): Promise<Message>;
}

type Ledgers = Record<ToContacts, Ledger> & { notice: Pick<Ledger, "list"> };

function ledgersOf(clients: Clients): Ledgers {
  const emails = clients.of(EmailMethodService);
  const smses = clients.of(SmsMethodService);
  const tweets = clients.of(TweetMethodService);
  const notifications = clients.of(NotificationMethodService);
  const notices = clients.of(NoticeService);
  return {
    email: { list: emails.listSends, replay: emails.replaySends, resolve: emails.resolveSend },
    sms: { list: smses.listSmsSends, replay: smses.replaySmsSends, resolve: smses.resolveSmsSend },
    tweet: { list: tweets.listTweetSends, replay: tweets.replayTweetSends, resolve: tweets.resolveTweetSend },
    notification: {
      list: notifications.listNotificationSends,
      replay: notifications.replayNotificationSends,
      resolve: notifications.resolveNotificationSend,
    },
    notice: {
      async list(asked, options) {
        const { notices: sends, next } = await notices.listNotices(asked, options);
        return { sends, next };
      },
    },
  };
}

const EDIT: Right = {
  ...{ base: "email:emails", verb: "edit" },
  orElse:
    "that of the channel besides emails: `sms:smses:edit`, `svcSocial:tweets:edit`, `notification:notifications:edit`",
};

/** Routes of the ledger: what became of each mail and each text message. */
export function sendRoutes({ clients, limits: { cursors } }: RoutesContext): Route[] {
  const ledgers = ledgersOf(clients);
  return [
    listRoute(ledgers, cursors),
    ...holdRoutes(clients.of(SendHoldService)),
    ...undecidedRoutes(ledgers),
  ];
}

function listRoute(ledgers: Ledgers, cursors: Cursors): Route {
  return route({
    method: "GET",
    path: "/sends",
    summary: "List sends of an email, a text message, a tweet, a notification or a contact, the latest first",
    rpc: EmailMethodService.method.listSends,
    right: {
      ...{ base: "email:emails", verb: "view" },
      orElse:
        "that of the channel besides emails: `sms:smses:view` with `channel=sms`, `svcSocial:tweets:view`, `notification:notifications:view`",
    },
    query: SENDS_QUERY,
    answer: SENDS,
    async handle({ query: { channel, cursor, ...asked }, options, response }) {
      const list = { cursors, filters: [channel, asked.itemId, asked.contactId, asked.state] };
      const position = cursor === undefined ? undefined : positionOf(cursor, response, list);
      const behind = { ...asked, after: position ?? asked.after };
      const { sends, next } = await ledgers[channel].list(behind, options);
      if (cursor !== undefined && next !== "") linkNext(next, response, list);
      return `{"sends":[${sends.map(sendJson).join(",")}],"next":${JSON.stringify(next || null)}}`;
    },
  });
}

function holdRoutes(holds: RpcClient<typeof SendHoldService>): Route[] {
  return [
    route({
      method: "GET",
      path: "/sends/hold",
      summary: "Read whether all sends are held, since the database was restored",
      rpc: SendHoldService.method.getSendHold,
      answer: HOLD,
      handle: async ({ options }) => holdJson(await holds.getSendHold({}, options)),
    }),
    route({
      method: "POST",
      path: "/sends/resume",
      summary: "Let sends go on after a restore, also those that wait since before it",
      rpc: SendHoldService.method.resumeSends,
      answer: HOLD,
      handle: async ({ options }) => holdJson(await holds.resumeSends({}, options)),
    }),
  ];
}

/** Sends that failed, or whose outcome nobody knows. */
function undecidedRoutes(ledgers: Ledgers): Route[] {
  const rpc = EmailMethodService.method;
  return [
    route({
      method: "POST",
      path: "/sends/replay",
      summary: "Try failed sends of an email, a text message, a tweet or a notification again",
      rpc: rpc.replaySends,
      right: EDIT,
      body: REPLAY,
      answer: jsonAnswer(closed({ success: { const: 1 }, job: closed({ id: TEXT }) })),
      errors: [404, 409],
      async handle({ body, options }) {
        const [channel = "email", ...others] = TO_CONTACTS.filter((one) => body[itemOf(one)] !== undefined);
        const item = itemOf(channel);
        if (others.length > 0) throw badRequest(`${item} does not go with ${others.map(itemOf).join(", ")}.`);
        const code = idInMember("code", body.code);
        const asked = { itemId: idInMember(item, body[item]), ...filterIn(body, code) };
        const { jobId } = await ledgers[channel].replay(asked, options);
        return { success: 1, job: { id: jobId } };
      },
    }),
    route({
      method: "POST",
      path: "/sends/:id/resolve",
      summary: "Decide a send whose outcome nobody knows",
      rpc: rpc.resolveSend,
      right: EDIT,
      parameters: { id: SEND_ID },
      body: RESOLUTION,
      answer: RESOLVED,
      errors: [409],
      handle({ parameters: { id }, body, options }) {
        const channel = TO_CONTACTS.find((one) => id.startsWith(`${one}-`)) ?? "email";
        return ledgers[channel].resolve({ id, as: String(body.as ?? "") }, options);
      },
    }),
  ];
}

function holdJson({ isHeld }: SendHold) {
  return { hold: { held: isHeld } };
}

function sendJson(send: Message): string {
  const write = WRITERS.get(send.$typeName);
  if (!write) throw new Error(`${send.$typeName} is no send`);
  return write(send);
}
