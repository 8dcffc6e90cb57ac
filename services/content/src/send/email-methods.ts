import { randomUUID } from "node:crypto";
import type { Database } from "@tidings/database/database";
import type { Outbox } from "@tidings/messaging/outbox";
import { ContactSchema } from "@tidings/proto/tidings/contact/v1/contact";
import { AssetSchema } from "@tidings/proto/tidings/content/v1/asset";
import type { Email, EmailMethodService } from "@tidings/proto/tidings/content/v1/email";
import { isNothing, isObject, jsonOf, notValid } from "@tidings/resource/json-member";
import type { FindVisible } from "@tidings/resource/needs";
import type { Repository } from "@tidings/resource/repository-options";
import type { Call } from "@tidings/rpc/call";
import type { Handlers } from "@tidings/rpc/definition";
import { invalid, notFound } from "@tidings/rpc/fault";
import { textOf } from "@tidings/runtime/plain-text";
import { withoutScripts } from "../slot/without-scripts.ts";
import { sendAwaiter } from "./await-sends.ts";
import { chooseContact } from "./choose-contact.ts";
import type { AskContactable } from "./contactable.ts";

export interface EmailMethodOptions {
  database: Database;
  outbox: Outbox;
  rows: Repository<Email>;
  findVisible: FindVisible;
  askContactable: AskContactable;
  /** Is there a way for mails to leave? */
  hasTransport: boolean;
  /** Called once a send is chosen. */
  wake(): void;
}

/** Answered in words: each reason of the contact service that holds against every mail. */
const REFUSALS: Record<string, string> = {
  unsubscribed: "Contact has requested to not be emailed.",
  bounced: "Mail to this contact came back.",
  manual: "Contact was marked as one to not be emailed.",
  suppressed: "The address is one to not be emailed.",
};
const TOKENS_MAX = 100;
const TOKEN_NAME = /^\w{1,64}$/;
const TOKEN_LENGTH_MAX = 100_000;
const ATTACHMENTS_MAX = 100;

/** The methods of emails beyond the standard ones. */
export function emailMethods(options: EmailMethodOptions): Handlers<typeof EmailMethodService> {
  const { database, outbox, rows, findVisible, askContactable } = options;
  const awaitSend = sendAwaiter(database);
  return {
    async sendEmailToContact({ id, contactId, tokens, assetAttachments }, call) {
      await rows.get(id, call);
      if (!(await findVisible(ContactSchema, [contactId], call)).has(contactId)) throw notFound();
      const values = readTokens(tokens);
      const attachments = await readAttachments(assetAttachments, findVisible, call);
      if (!options.hasTransport) return { hash: "", refusal: "No mail transport is set up (MAIL_URL)." };
      const { refusal } = await askContactable("email", contactId);
      if (refusal === "not_found") throw notFound();
      const no = Object.hasOwn(REFUSALS, refusal) && REFUSALS[refusal];
      if (no) return { hash: "", refusal: no };
      const hash = await database.transaction(call.deadlineMs, async (transaction) => {
        transaction.afterCommit(options.wake);
        return chooseContact(
          { transaction, outbox, now: database.now() },
          {
            emailId: id,
            contactId,
            occasion: `direct:${randomUUID()}`,
            source: "api",
            sourceId: 0,
            tokens: values,
            attachments,
          },
        );
      });
      if (hash === undefined) throw notFound();
      return { hash, refusal: "" };
    },
    async awaitSend({ hash }, call) {
      const progress = await awaitSend(hash, call.deadlineMs);
      if (!progress) throw notFound();
      return progress;
    },
  };
}

/** `{"name": "<b>value</b>"}`, with braces about the names or without. An empty list is an empty map in the languages of older clients. */
function readTokens(json: Uint8Array): Record<string, string> {
  const sent = jsonOf(json);
  if (isNothing(sent)) return {};
  if (!isObject(sent)) throw invalid([notValid("tokens", "It is a map of values by the names of tokens.")]);
  const entries = Object.entries(sent);
  if (entries.length > TOKENS_MAX)
    throw invalid([notValid("tokens", `At most ${TOKENS_MAX} tokens are supported.`)]);
  const read = entries.map(([written, value]) => {
    const name = written.replace(/^\{(.*)\}$/s, "$1");
    const text = isNothing(value) ? "" : textOf(value);
    if (!TOKEN_NAME.test(name))
      throw invalid([notValid("tokens", "A name is 1 to 64 letters, digits and underscores.")]);
    if (text === undefined || text.length > TOKEN_LENGTH_MAX)
      throw invalid([
        notValid(`tokens.${name}`, `A value is a text of at most ${TOKEN_LENGTH_MAX} characters.`),
      ]);
    return [name, withoutScripts(text)] as const;
  });
  return Object.fromEntries(read);
}

async function readAttachments(
  json: Uint8Array,
  findVisible: FindVisible,
  call: Call,
): Promise<number[] | undefined> {
  const sent = jsonOf(json);
  if (isNothing(sent)) return undefined;
  const ids = Array.isArray(sent) ? sent.map((id) => Number(textOf(id))) : [];
  if (
    !Array.isArray(sent) ||
    ids.length > ATTACHMENTS_MAX ||
    !ids.every((id) => Number.isInteger(id) && id > 0 && id < 2 ** 31)
  )
    throw invalid([
      notValid("assetAttachments", `It is a list of at most ${ATTACHMENTS_MAX} ids of assets.`),
    ]);
  const visible = ids.length > 0 ? await findVisible(AssetSchema, ids, call) : new Set<number>();
  const missing = ids.find((id) => !visible.has(id));
  if (missing !== undefined) throw invalid([notValid("assetAttachments", `There is no asset ${missing}.`)]);
  return ids;
}
