import type { Foundation } from "@tidings/service/start-service";
import type { ContentConfig } from "./config.ts";
import { NOTIFICATION_KIND } from "./notification/notification-kind.ts";
import { notificationSending } from "./notification/notification-sending.ts";
import { reportAddresses } from "./reply/text-callbacks.ts";
import type { MailParts } from "./send/mail-parts.ts";
import { SMS_KIND } from "./text/sms-kind.ts";
import { smsSending } from "./text/sms-sending.ts";
import type { TextKind } from "./text/text-kind.ts";
import type { TextSending } from "./text/text-sending.ts";
import { TWEET_KIND } from "./tweet/tweet-kind.ts";
import { tweetSending } from "./tweet/tweet-sending.ts";

/** The channels besides emails, as marketing messages name them. */
export type ChannelName = "sms" | "tweet" | "notification" | "mobile_notification";

/** Each channel with the kind of its messages. Notifications to browsers and to apps have one ledger. */
export const KIND_OF: Record<ChannelName, TextKind> = {
  sms: SMS_KIND,
  tweet: TWEET_KIND,
  notification: NOTIFICATION_KIND,
  mobile_notification: NOTIFICATION_KIND,
};

export const TEXT_KINDS = [SMS_KIND, TWEET_KIND, NOTIFICATION_KIND];

/** All that writes and sends messages of the channels besides emails. */
export type Channels = Record<"sms" | "tweet" | "notification", TextSending>;

export function openChannels(foundation: Foundation<ContentConfig>, mail: MailParts): Channels {
  return {
    sms: smsSending(foundation, mail, reportAddresses(foundation.config)),
    tweet: tweetSending(foundation, mail),
    notification: notificationSending(foundation, mail),
  };
}

/** The channel by the name of a marketing message; undefined for emails. */
export function sendingOf(channels: Channels, name: string): TextSending | undefined {
  const kind = Object.hasOwn(KIND_OF, name) ? KIND_OF[name as ChannelName] : undefined;
  return kind && channels[kind.channel.name];
}
