import type { Foundation } from "@tidings/service/start-service";
import type { ContentConfig } from "../config.ts";
import { utmParameters } from "../family/utm-tags.ts";
import { clickLinks } from "../send/click-links.ts";
import { SendRefused } from "../send/compose-send.ts";
import { type AskContactable, type Contactable, LIMITS } from "../send/contactable.ts";
import type { MailParts } from "../send/mail-parts.ts";
import { linkTracker } from "../send/track-links.ts";
import { textRenderer } from "../text/render-text.ts";
import type { TextSend } from "../text/text-queue.ts";
import { type TextSending, textWay } from "../text/text-sending.ts";
import type { TextMessage } from "../text/text-transport.ts";
import { readContent, utmIn, writeContent } from "./notification-content.ts";
import { NOTIFICATION_KIND } from "./notification-kind.ts";
import { type PushIdsOf, pushIdFinder } from "./push-ids.ts";

/** Notifications to browsers and apps, which leave by PUSH_URL. */
export function notificationSending(
  foundation: Foundation<ContentConfig>,
  { rendering, askContactable }: MailParts,
): TextSending {
  const { config, database } = foundation;
  const { PUSH_URL: url, PUBLIC_URL: publicUrl, PUBLIC_TOKEN_KEYS: tokenKeys } = config;
  const style = { channel: "notification" as const, empty: "The notification is empty." };
  const render = textRenderer({ ...rendering, database, publicUrl, tokenKeys }, style);
  const pushIdsOf = pushIdFinder(database);
  const linksOf = clickLinks(tokenKeys, publicUrl);
  return {
    kind: NOTIFICATION_KIND,
    async render(item, contactId) {
      await requirePushIds(pushIdsOf, contactId, item.mobile === "t");
      const of = { itemId: Number(item.id), language: item.language ?? "" };
      const [heading, content] = await Promise.all(
        [item.heading, item.message].map((text) => render({ ...of, text: text ?? "" }, contactId)),
      );
      const utm = utmParameters(Buffer.from(item.utm_tags ?? ""));
      const link = { url: item.url ?? "", button: item.button ?? "", utm };
      return writeContent({ heading: heading ?? "", content: content ?? "", ...link });
    },
    ask: (contactId, isMobile) => askForPush(askContactable, contactId, isMobile),
    way: textWay(foundation, NOTIFICATION_KIND, {
      url,
      async write(send): Promise<TextMessage> {
        const to = await requirePushIds(pushIdsOf, send.contactId, send.isMobile);
        const { heading, content, url: address, button } = readContent(send.content);
        const values = { heading, text: content, button, hash: send.hash, url: await tracked(send, address) };
        return { address: to.join(","), to, values };
      },
    }),
  };

  /** The link by which a click is known to be one in this notification. Values of the contact are filled in when it is followed. */
  async function tracked({ itemId, contactId, hash, content }: TextSend, address: string): Promise<string> {
    if (address === "") return "";
    const track = linkTracker(database, { channel: "notification", channelId: itemId });
    const id = (await track([address])).get(address);
    const click = { contactId, channel: "notification", channelId: itemId, sendHash: hash };
    return id === undefined ? address : linksOf(click).tracked(id, utmIn(content));
  }
}

async function requirePushIds(find: PushIdsOf, contactId: number, isMobile: boolean): Promise<string[]> {
  const ids = await find(contactId, isMobile);
  if (ids.length > 0) return ids;
  throw new SendRefused(`The contact has no ${isMobile ? "app" : "browser"} that takes notifications.`);
}

/** A no to notifications is one to those of apps, too; apps have limits of their own besides. */
async function askForPush(
  askContactable: AskContactable,
  contactId: number,
  isMobile: boolean,
): Promise<Contactable> {
  const all = askContactable("notification", contactId);
  if (!isMobile) return all;
  const [any, mobile] = await Promise.all([all, askContactable("mobile_notification", contactId)]);
  const isNo = any.refusal !== "" && !LIMITS.has(any.refusal);
  return {
    ...mobile,
    refusal: isNo ? any.refusal : mobile.refusal,
    isFresh: () => any.isFresh() && mobile.isFresh(),
  };
}
