import type { Foundation } from "@tidings/service/start-service";
import type { ContentConfig } from "../config.ts";
import { SendRefused } from "../send/compose-send.ts";
import type { MailParts } from "../send/mail-parts.ts";
import { textRenderer } from "../text/render-text.ts";
import { type TextSending, textWay } from "../text/text-sending.ts";
import type { TextMessage } from "../text/text-transport.ts";
import type { KnownContacts } from "../visit/known-contact.ts";
import { TWEET_KIND } from "./tweet-kind.ts";
import { twitterHandle } from "./twitter-handle.ts";

/** Tweets, which leave by TWEET_URL. */
export function tweetSending(
  foundation: Foundation<ContentConfig>,
  { rendering, askContactable }: MailParts,
): TextSending {
  const { config, database } = foundation;
  const { TWEET_URL: url, PUBLIC_URL: publicUrl, PUBLIC_TOKEN_KEYS: tokenKeys } = config;
  const { contacts } = rendering;
  const render = textRenderer(
    { ...rendering, database, publicUrl, tokenKeys },
    {
      channel: "tweet",
      empty: "The tweet is empty.",
      // A visitor who follows a link of a tweet is not therefore its contact.
      isPublic: true,
      token: { name: "twitter_handle", field: "twitter", write: (value) => `@${twitterHandle(value) ?? ""}` },
    },
  );
  return {
    kind: TWEET_KIND,
    async render({ id, text, language }, contactId) {
      await handleOf(contacts, contactId);
      return render({ itemId: Number(id), text: text ?? "", language: language ?? "" }, contactId);
    },
    ask: (contactId) => askContactable("tweet", contactId),
    way: textWay(foundation, TWEET_KIND, {
      url,
      async write({ contactId, content, hash }): Promise<TextMessage> {
        const handle = await handleOf(contacts, contactId);
        return { address: handle, to: [handle], values: { text: content, hash } };
      },
    }),
  };
}

/** The present handle of a contact. Throws SendRefused where there is none. */
async function handleOf(contacts: KnownContacts, contactId: number): Promise<string> {
  const value = (await contacts.fieldsOf(contactId, ["twitter"])).get("twitter")?.trim();
  if (!value) throw new SendRefused("The contact has no Twitter handle.");
  const handle = twitterHandle(value);
  if (handle === undefined) throw new SendRefused("The Twitter handle is malformed.");
  return handle;
}
