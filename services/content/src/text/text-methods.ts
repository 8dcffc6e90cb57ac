import { randomUUID } from "node:crypto";
import { type Database, prepared } from "@tidings/database/database";
import { type Sms, type SmsMethodService, SmsRefusal } from "@tidings/proto/tidings/content/v1/sms";
import type { FindVisible } from "@tidings/resource/needs";
import type { Repository } from "@tidings/resource/repository-options";
import type { Handlers } from "@tidings/rpc/definition";
import { notFound } from "@tidings/rpc/fault";
import { isOpen } from "../family/is-open.ts";
import { sendAwaiter } from "../send/await-sends.ts";
import { type AskContactable, LIMITS } from "../send/contactable.ts";
import { notWritten } from "../send/not-written.ts";
import { requireContact } from "../send/require-contact.ts";
import { chooseSmses } from "./choose-text.ts";
import type { RenderText } from "./render-text.ts";

export interface TextMethodOptions {
  database: Database;
  rows: Repository<Sms>;
  findVisible: FindVisible;
  askContactable: AskContactable;
  render: RenderText;
  /** Is there a way for text messages to leave? */
  hasTransport: boolean;
  /** Called once a send is chosen. */
  wake(): void;
}

const openStatement = prepared("smses_open", `select from smses s where s.id = $1 and ${isOpen("s")}`);

/** The methods of text messages beyond the standard ones. */
export function textMethods({
  database,
  rows,
  findVisible,
  askContactable,
  render,
  hasTransport,
  wake,
}: TextMethodOptions): Pick<Handlers<typeof SmsMethodService>, "sendSmsToContact" | "awaitSmsSend"> {
  const awaitSend = sendAwaiter(database, "text_sends");
  return {
    async sendSmsToContact({ id, contactId }, call) {
      const { name, message = "", language = "" } = await rows.get(id, call);
      await requireContact(findVisible, contactId, call);
      if (!hasTransport) return { name, refusal: SmsRefusal.NO_TRANSPORT };
      const [open] = await database.query(openStatement, [id], call.deadlineMs);
      if (!open) return { name, refusal: SmsRefusal.UNPUBLISHED };
      const { refusal } = await askContactable("sms", contactId);
      if (refusal === "not_found") throw notFound();
      if (refusal !== "" && !LIMITS.has(refusal)) return { name, refusal: SmsRefusal.NOT_CONTACTABLE };
      const written = await render({ smsId: id, message, language }, contactId).catch(notWritten);
      if (typeof written !== "string") return { name, refusal: SmsRefusal.NOT_WRITTEN, ...written };
      const [hash] = await database.transaction(call.deadlineMs, async (transaction) => {
        transaction.afterCommit(wake);
        const of = { occasion: `direct:${randomUUID()}`, source: "api", sourceId: 0 };
        return chooseSmses(transaction, [{ ...of, itemId: id, contactId, content: written }], database.now());
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
