import { type Database, prepared, queryable } from "@tidings/database/database";
import type {
  MarketingMessage,
  MarketingMessageMethodService,
} from "@tidings/proto/tidings/content/v1/marketing_message";
import type { FindVisible } from "@tidings/resource/needs";
import type { Repository } from "@tidings/resource/repository-options";
import type { Handlers } from "@tidings/rpc/definition";
import { notFound } from "@tidings/rpc/fault";
import { isOpen } from "../family/is-open.ts";
import { sendAwaiter } from "../send/await-sends.ts";
import { directOccasion } from "../send/direct-occasion.ts";
import { requireContact } from "../send/require-contact.ts";
import { chooseMessages } from "./choose-messages.ts";
import { MESSAGE_OUTCOMES, messagesOfOccasion, readMessage } from "./read-messages.ts";

export interface MessageMethodOptions {
  database: Database;
  rows: Repository<MarketingMessage>;
  findVisible: FindVisible;
  /** Called once a message is chosen. */
  wake(): void;
}

const openStatement = prepared(
  "marketing_messages_open",
  `select from marketing_messages m where m.id = $1 and ${isOpen("m")}`,
);
const UNPUBLISHED = "The marketing message is not published.";
const NO_CHANNEL = "The marketing message has no channel that is enabled.";

/** The methods of marketing messages beyond the standard ones. */
export function messageMethods({
  database,
  rows,
  findVisible,
  wake,
}: MessageMethodOptions): Handlers<typeof MarketingMessageMethodService> {
  const awaitMessage = sendAwaiter(database, "message_sends", MESSAGE_OUTCOMES);
  return {
    async sendMessageToContact({ id, contactId }, call) {
      const { channels } = await rows.get(id, call);
      await requireContact(findVisible, contactId, call);
      const occasion = directOccasion(call);
      const asked = { itemId: id, occasion, contactIds: [contactId] };
      const [before] = call.repeatName
        ? await messagesOfOccasion(queryable(database, call.deadlineMs), asked)
        : [];
      if (before?.hash) return { hash: before.hash };
      const [open] = await database.query(openStatement, [id], call.deadlineMs);
      if (!open) return { refusal: UNPUBLISHED };
      if (!channels.some(({ isEnabled, channelId }) => isEnabled && channelId))
        return { refusal: NO_CHANNEL };
      const [hash] = await database.transaction(call.deadlineMs, async (transaction) => {
        transaction.afterCommit(wake);
        const of = { occasion, source: "api", sourceId: 0, isBulk: false };
        const chosen = { ...of, messageId: id, contactIds: [contactId] };
        return chooseMessages(transaction, chosen, database.now());
      });
      if (hash === undefined) throw notFound();
      return { hash };
    },
    async awaitMessageSend({ hash }, call) {
      await awaitMessage(hash, call.deadlineMs);
      const outcome = await readMessage(queryable(database, call.deadlineMs), hash);
      if (!outcome) throw notFound();
      return outcome;
    },
  };
}
