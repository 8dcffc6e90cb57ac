import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Row } from "@tidings/database/statement";
import type { ListedTweetSchema, TweetMethodService } from "@tidings/proto/tidings/content/v1/tweet";
import type { Handlers } from "@tidings/rpc/definition";
import type { LedgerOptions } from "../send/channel-ledger.ts";
import { listedMembers, textLedger } from "../text/text-ledger.ts";
import { TWEET_KIND } from "./tweet-kind.ts";

const ledgerOf = textLedger(TWEET_KIND, { columns: ["provider_id"], toSend: listed });

/** The ledger of tweets as callers see it. */
export function tweetMethods(options: LedgerOptions): Handlers<typeof TweetMethodService> {
  const { list, resolve, replay } = ledgerOf(options);
  return { listTweetSends: list, resolveTweetSend: resolve, replayTweetSends: replay };
}

function listed(row: Row): MessageInitShape<typeof ListedTweetSchema> {
  return {
    ...listedMembers(TWEET_KIND.channel, row),
    tweetId: Number(row.tweet_id),
    ...(row.provider_id && { providerId: row.provider_id }),
  };
}
