import { randomUUID } from "node:crypto";
import { type Database, prepared, queryable } from "@tidings/database/database";
import { advisoryLocksById } from "@tidings/database/lock";
import type { Transaction } from "@tidings/database/transaction";
import type { Outbox } from "@tidings/messaging/outbox";
import type { Email, EmailMethodService } from "@tidings/proto/tidings/content/v1/email";
import { UserSchema } from "@tidings/proto/tidings/identity/v1/user";
import { isNothing, jsonBytes, jsonOf, notValid } from "@tidings/resource/json-member";
import type { FindVisible } from "@tidings/resource/needs";
import type { Repository } from "@tidings/resource/repository-options";
import type { Call } from "@tidings/rpc/call";
import type { Handlers } from "@tidings/rpc/definition";
import { Code, conflict, Fault, invalid, notFound } from "@tidings/rpc/fault";
import { textOf } from "@tidings/runtime/plain-text";
import { sendAwaiter } from "../send/await-sends.ts";
import { presentRevision } from "../send/email-revision.ts";
import { NO_TRANSPORT } from "../send/mail-parts.ts";
import { notWritten } from "../send/not-written.ts";
import { renderUnsent, type UnsentOptions } from "../send/render-unsent.ts";
import { requireContact } from "../send/require-contact.ts";
import { sendAction } from "../send/send-action.ts";
import { chooseNotices } from "./choose-notices.ts";
import { noticeMailOf } from "./notice-mail.ts";
import { findMailboxes, type UserMailbox } from "./users.ts";

export interface TestMailOptions {
  database: Database;
  outbox: Outbox;
  rows: Repository<Email>;
  findVisible: FindVisible;
  rendering: UnsentOptions;
  /** Is there a way for mails to leave? */
  hasTransport: boolean;
  /** Called once a notice is chosen. */
  wake(): void;
}

const RECIPIENTS_MAX = 20;
/** Mails to people who did not ask for them: more are no test. */
const MAILS_PER_HOUR = 30;
const HOUR_SECONDS = 3_600;
const locks = advisoryLocksById("test mails");
const countStatement = prepared(
  "notices_of_user",
  `select count(*) as mails from notices
   where created_by = $1 and date_queued > now() - make_interval(secs => ${HOUR_SECONDS})`,
);

/** Sends an email as a contact would get it to users: it is marked, and counts nowhere. */
export function testMailMethods({
  database,
  outbox,
  rows,
  findVisible,
  rendering,
  hasTransport,
  wake,
}: TestMailOptions): Pick<Handlers<typeof EmailMethodService>, "sendTestEmail"> {
  const awaitNotice = sendAwaiter(database, "notices");
  return {
    async sendTestEmail({ id, users, addresses, contactId }, call) {
      await rows.get(id, call);
      if (contactId > 0) await requireContact(findVisible, contactId, call);
      const recipients = await readRecipients({ users, addresses }, { database, findVisible }, call);
      if (!hasTransport) throw conflict(NO_TRANSPORT);
      const revision = await presentRevision(database, id);
      if (!revision) throw notFound();
      const shown = { contactId: contactId || undefined, tokens: {}, now: database.now() };
      const rendered = await renderUnsent(revision, shown, rendering).catch(notWritten);
      if ("reason" in rendered) throw conflict(rendered.reason);
      const mail = {
        ...noticeMailOf(rendered, revision),
        subject: `[TEST] ${rendered.subject}`,
        headers: [...rendered.headers, ["X-EMAIL-ID", String(id)] as [string, string]],
      };
      const createdBy = call.actor.id ?? 0;
      const [hashes = new Map<string, string>()] = await database.transaction(
        call.deadlineMs,
        async (transaction) => {
          await holdToLimit(transaction, createdBy, recipients.length);
          transaction.afterCommit(wake);
          const of = { occasion: `test:${randomUUID()}`, sourceId: id, contactId: contactId || undefined };
          const to = recipients.map(({ address }) => address);
          const tested = { users: recipients.map(({ userId }) => userId), contactId: contactId || null };
          outbox.append(transaction, [sendAction("email", id, "test", tested)]);
          return chooseNotices(transaction, [{ ...of, mail, addresses: to, createdBy }], database.now());
        },
      );
      const states = await Promise.all(
        [...hashes].map(async ([address, hash]) => ({
          address,
          state: (await awaitNotice(hash, call.deadlineMs))?.state ?? "",
        })),
      );
      return { recipients: jsonBytes(states) };
    },
  };
}

/** Users by their ids or addresses, as far as the caller may see them; the caller when nobody is named. Nobody else gets a test mail. */
async function readRecipients(
  sent: { users: Uint8Array; addresses: Uint8Array },
  { database, findVisible }: Pick<TestMailOptions, "database" | "findVisible">,
  call: Call,
): Promise<UserMailbox[]> {
  const named = { users: readList("users", sent.users), addresses: readList("addresses", sent.addresses) };
  const isOneself = named.users.length + named.addresses.length === 0;
  const ids = isOneself ? [call.actor.id ?? 0] : named.users.map(Number);
  if (!ids.every((id) => Number.isInteger(id) && id < 2 ** 31))
    throw invalid([notValid("users", "It is a list of ids of users.")]);
  const queries = queryable(database, call.deadlineMs);
  const found = await findMailboxes(queries, { ids, addresses: named.addresses });
  const seen = await findVisible(
    UserSchema,
    found.map(({ userId }) => userId),
    call,
  );
  const visible = found.filter(({ userId }) => seen.has(userId));
  const unknown = ids.find((id) => !visible.some(({ userId }) => userId === id));
  if (unknown !== undefined)
    throw invalid([
      notValid(
        "users",
        isOneself ? "Name users or addresses of users." : `There is no user ${unknown} with an address.`,
      ),
    ]);
  const isTheirs = (address: string) =>
    visible.some((one) => one.address.toLowerCase() === address.toLowerCase());
  const stranger = named.addresses.findIndex((address) => !isTheirs(address));
  if (stranger >= 0) throw invalid([notValid(`addresses[${stranger}]`, "It is the address of no user.")]);
  return visible;
}

function readList(field: string, json: Uint8Array): string[] {
  const sent = jsonOf(json);
  if (isNothing(sent)) return [];
  const texts = Array.isArray(sent) ? sent.map((item) => textOf(item) ?? "") : [];
  if (Array.isArray(sent) && texts.length <= RECIPIENTS_MAX) return texts;
  throw invalid([notValid(field, `It is a list of at most ${RECIPIENTS_MAX}.`)]);
}

async function holdToLimit(transaction: Transaction, userId: number, more: number): Promise<void> {
  locks.exclusive(transaction, [userId]);
  const [row] = await transaction.query(countStatement, [userId]);
  if (Number(row?.mails) + more <= MAILS_PER_HOUR) return;
  const message = `At most ${MAILS_PER_HOUR} test mails are sent an hour.`;
  throw new Fault({
    ...{ code: Code.RESOURCE_EXHAUSTED, reason: "RATE_LIMITED", message },
    retryAfterSeconds: HOUR_SECONDS,
  });
}
