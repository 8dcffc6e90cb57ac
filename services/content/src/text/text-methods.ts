import { type Database, prepared, queryable } from "@tidings/database/database";
import type { Outbox } from "@tidings/messaging/outbox";
import { type Sms, type SmsMethodService, SmsRefusal } from "@tidings/proto/tidings/content/v1/sms";
import type { FindVisible } from "@tidings/resource/needs";
import type { Repository } from "@tidings/resource/repository-options";
import type { Handlers } from "@tidings/rpc/definition";
import { notFound } from "@tidings/rpc/fault";
import { sendAwaiter } from "../send/await-sends.ts";
import { LIMITS } from "../send/contactable.ts";
import { directOccasion } from "../send/direct-occasion.ts";
import { notWritten } from "../send/not-written.ts";
import { sendOfOccasion } from "../send/outcomes.ts";
import { requireContact } from "../send/require-contact.ts";
import { sendAction } from "../send/send-action.ts";
import type { TextSending } from "./text-sending.ts";

export interface TextMethodOptions {
  database: Database;
  outbox: Outbox;
  rows: Repository<Sms>;
  findVisible: FindVisible;
  sending: TextSending;
  /** Called once a send is chosen. */
  wake(): void;
}

const repeatedStatement = prepared("text_sends_repeated", sendOfOccasion("text_sends", "sms_id", "content"));

/** The methods of text messages beyond the standard ones. */
export function textMethods({
  database,
  outbox,
  rows,
  findVisible,
  sending: { kind, render, ask, way },
  wake,
}: TextMethodOptions): Pick<Handlers<typeof SmsMethodService>, "sendSmsToContact" | "awaitSmsSend"> {
  const awaitSend = sendAwaiter(database, "text_sends");
  return {
    async sendSmsToContact({ id, contactId }, call) {
      const { name } = await rows.get(id, call);
      await requireContact(findVisible, contactId, call);
      const occasion = directOccasion(call);
      const [before] = call.repeatName
        ? await database.query(repeatedStatement, [id, occasion, [contactId]], call.deadlineMs)
        : [];
      if (before) return { hash: before.hash ?? "", name, content: before.content ?? "" };
      if (!way) return { name, refusal: SmsRefusal.NO_TRANSPORT };
      const open = (await kind.openItems(queryable(database, call.deadlineMs), [id])).get(id);
      if (!open) return { name, refusal: SmsRefusal.UNPUBLISHED };
      const { refusal } = await ask(contactId, false);
      if (refusal === "not_found") throw notFound();
      if (refusal !== "" && !LIMITS.has(refusal)) return { name, refusal: SmsRefusal.NOT_CONTACTABLE };
      const written = await render(open, contactId).catch(notWritten);
      if (typeof written !== "string") return { name, refusal: SmsRefusal.NOT_WRITTEN, ...written };
      const [hash] = await database.transaction(call.deadlineMs, async (transaction) => {
        transaction.afterCommit(wake);
        outbox.append(transaction, [sendAction("sms", id, "send", { contactId })]);
        const of = { occasion, source: "api", sourceId: 0 };
        return kind.choose(transaction, [{ ...of, itemId: id, contactId, content: written }], database.now());
      });
      if (hash === undefined) throw notFound();
      return { hash, name, content: written };
    },
    async awaitSmsSend({ hash }, call) {
      const progress = await awaitSend(hash, call.deadlineMs);
      if (!progress) throw notFound();
      return progress;
    },
  };
}
