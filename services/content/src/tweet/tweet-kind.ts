import { TweetSendsSchema } from "@tidings/proto/tidings/content/v1/events";
import { TweetSchema } from "@tidings/proto/tidings/content/v1/tweet";
import type { TextChannel } from "../text/text-channel.ts";
import { itemMembers, textFacts, textMembers } from "../text/text-facts.ts";
import { textKind } from "../text/text-kind.ts";

const TWEET: TextChannel = {
  ...{ name: "tweet", one: "tweet", plural: "tweets" },
  ...{ table: "tweet_sends", items: "tweets", item: "tweet_id" },
  ...{ copied: {}, published: ["provider_id", "answer", "favorite_count", "retweet_count"] },
};

export const TWEET_FACTS = textFacts({
  channel: TWEET,
  schema: TweetSendsSchema,
  itemColumns: [],
  messageOf: (sends, items) => ({
    sends: sends.map((row) => ({
      ...textMembers(row),
      tweetId: Number(row.tweet_id),
      twitterTweetId: row.provider_id ?? "",
      responseDetails: row.answer ?? "",
      favoriteCount: Number(row.favorite_count),
      retweetCount: Number(row.retweet_count),
    })),
    tweets: items.map(itemMembers),
  }),
});

export const TWEET_KIND = textKind({
  facts: TWEET_FACTS,
  lane: "send_tweet",
  written: ["text", "language"],
  schema: TweetSchema,
});
