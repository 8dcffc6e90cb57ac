import { queryable } from "@tidings/database/database";
import { wireAddress } from "@tidings/mail/mail-address";
import type { SendMethodService } from "@tidings/proto/tidings/content/v1/send";
import { notValid } from "@tidings/resource/json-member";
import type { Handlers } from "@tidings/rpc/definition";
import { invalid, notOneOf } from "@tidings/rpc/fault";
import { messagesOfOccasion } from "../chain/read-messages.ts";
import type { Channels } from "../channels.ts";
import { emailsOfOccasion } from "../send/emails-of-occasion.ts";
import type { Outcome } from "../send/outcomes.ts";
import { readTokens } from "../send/read-tokens.ts";
import type { AskedSends } from "./request.ts";
import { type RequestEmailsOptions, requestEmails } from "./request-emails.ts";
import { requestMessages } from "./request-messages.ts";
import { type RequestNoticesOptions, requestNotices } from "./request-notices.ts";
import { type OutcomesOf, textRequests } from "./request-texts.ts";

export interface SendRequestOptions extends RequestEmailsOptions, RequestNoticesOptions {
  channels: Channels;
}

/** How a channel is asked for sends, and what became of them. */
interface Requests {
  request(asked: AskedSends, deadlineMs: number): Promise<Outcome[]>;
  outcomesOf: OutcomesOf;
}

const CHANNELS = ["email", "sms", "tweet", "notification", "message"] as const;
type Channel = (typeof CHANNELS)[number];
const CONTACTS_MAX = 500;
/** Each has a mail of its own, which is written at once. */
const CONTACTS_OF_ADDRESSES_MAX = 100;
const ADDRESSES_MAX = 20;
/** These may not be taken for occasions of this service itself: `list`, `direct:`, `form:`, `message:`, `test:`. */
const OCCASION = /^(?:campaign|trigger|report):[\w:.-]{1,150}$/;
const SOURCE = /^[a-z.]{1,50}$/;

/** Sends that other services ask for: campaigns, triggers of points, reports. */
export function sendRequests(
  options: SendRequestOptions,
): Pick<Handlers<typeof SendMethodService>, "sendToContacts" | "readSendOutcomes" | "sendToAddresses"> {
  const { database } = options;
  const channels = requestsOf(options);
  return {
    async sendToContacts({ channel, itemId, source, sourceId, isMarketing, tokens, ...asked }, call) {
      const { request } = channels[channelIn(channel)];
      if (!SOURCE.test(source))
        throw invalid([notValid("source", "It is 1 to 50 small letters and points.")]);
      const sends = {
        ...{ ...occasionIn(asked), itemId, source, sourceId, isMarketing },
        tokens: readTokens(tokens),
      };
      return { outcomes: await request(sends, call.deadlineMs) };
    },
    async readSendOutcomes({ channel, itemId, ...asked }, { deadlineMs }) {
      const { outcomesOf } = channels[channelIn(channel)];
      return {
        outcomes: await outcomesOf(queryable(database, deadlineMs), { ...occasionIn(asked), itemId }),
      };
    },
    async sendToAddresses({ emailId, userIds, addresses, isToOwner, ...asked }, { deadlineMs }) {
      if (userIds.length + addresses.length > ADDRESSES_MAX)
        throw invalid([notValid("addresses", `At most ${ADDRESSES_MAX} users and addresses are supported.`)]);
      const odd = addresses.findIndex((address) => wireAddress(address) === undefined);
      if (odd >= 0) throw invalid([notValid(`addresses[${odd}]`, "A valid email is required.")]);
      const { occasion, contactIds } = occasionIn(asked, CONTACTS_OF_ADDRESSES_MAX);
      const notices = { emailId, occasion, contactIds, userIds, addresses, isToOwner };
      return { outcomes: await requestNotices(options, notices, deadlineMs) };
    },
  };
}

function requestsOf(options: SendRequestOptions): Record<Channel, Requests> {
  const { sms, tweet, notification } = options.channels;
  return {
    email: {
      request: (asked, deadlineMs) => requestEmails(options, asked, deadlineMs),
      outcomesOf: emailsOfOccasion,
    },
    sms: textRequests(sms, options),
    tweet: textRequests(tweet, options),
    notification: textRequests(notification, options),
    message: {
      request: (asked, deadlineMs) => requestMessages(options, asked, deadlineMs),
      outcomesOf: messagesOfOccasion,
    },
  };
}

function channelIn(name: string): Channel {
  const channel = CHANNELS.find((one) => one === name);
  if (channel === undefined) throw invalid([notValid("channel", notOneOf([...CHANNELS]))]);
  return channel;
}

function occasionIn(
  { occasion, contactIds }: { occasion: string; contactIds: number[] },
  contactsMax = CONTACTS_MAX,
): { occasion: string; contactIds: number[] } {
  if (!OCCASION.test(occasion))
    throw invalid([
      notValid(
        "occasion",
        "It is campaign:, trigger: or report: and 1 to 150 letters, digits and signs of :.-",
      ),
    ]);
  if (contactIds.length > contactsMax)
    throw invalid([notValid("contactIds", `At most ${contactsMax} contacts are supported.`)]);
  if (!contactIds.every((id) => id > 0)) throw invalid([notValid("contactIds", "They are ids of contacts.")]);
  return { occasion, contactIds: [...new Set(contactIds)] };
}
