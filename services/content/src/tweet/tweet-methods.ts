import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Row } from "@tidings/database/statement";
import type { ListedTweetSchema, TweetMethodService } from "@tidings/proto/tidings/content/v1/tweet";
import type { Handlers } from "@tidings/rpc/definition";
import { listedMembers, type TextLedgerOptions, textLedger } from "../text/text-ledger.ts";
import { TWEET_KIND } from "./tweet-kind.ts";

const ledgerOf = textLedger(TWEET_KIND, ["provider_id"]);
const UNNAMED =
  "Sends of tweets are listed of a tweet (tweetId), of a contact (contactId), or with state=unknown.";

/** The ledger of tweets as callers see it. */
export function tweetMethods(options: TextLedgerOptions): Handlers<typeof TweetMethodService> {
  const ledger = ledgerOf(options);
  return {
    async listTweetSends({ tweetId: itemId, ...asked }, call) {
      const { sends, next } = await ledger.list({ ...asked, itemId }, call, UNNAMED);
      return { sends: sends.map(listed), next };
    },
    replayTweetSends: ({ tweetId: itemId, code }, call) => ledger.replay({ itemId, code }, call),
    resolveTweetSend: async (asked, call) => listed(await ledger.resolve(asked, call)),
  };
}

function listed(row: Row): MessageInitShape<typeof ListedTweetSchema> {
  return {
    ...listedMembers(TWEET_KIND.channel, row),
    tweetId: Number(row.tweet_id),
    ...(row.provider_id && { providerId: row.provider_id }),
  };
}
