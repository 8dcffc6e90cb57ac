import assert from "node:assert/strict";
import { after } from "node:test";
import { createAuthority } from "@tidings/testkit/certificates";
import { eventually } from "@tidings/testkit/eventually";
import { startImapServer } from "@tidings/testkit/imap-server";
import type { Returned } from "@tidings/testkit/returned-mails";
import { temporaryFolder } from "@tidings/testkit/temporary-folder";
import { startMailingStack } from "./mailing-stack.ts";
import { addresses, newsletterTo, segmentOf } from "./newsletters.ts";

/** An installation that sends to a mail server, and reads what comes back in a real Dovecot. */

export const INBOX = "bounces@inbox.example";

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it knows to be there
type Any = any;

/** Starts it for one test file, with so many processes that read the inbox. */
export async function startInboxScene(processes = 1) {
  const folder = await temporaryFolder();
  const authority = await createAuthority(folder.path);
  const certificates = await authority.issue("imap", ["127.0.0.1"]);
  const inbox = await startImapServer({ certificates, password: "secret" });
  const stack = await startMailingStack({
    senders: processes,
    content: {
      MAIL_INBOX_URL: `imaps://reader:secret@127.0.0.1:${inbox.tlsPort}`,
      MAIL_INBOX_ADDRESS: INBOX,
      NODE_EXTRA_CA_CERTS: authority.caFile,
    },
  });
  after(async () => {
    await inbox.close();
    await folder.remove();
  });
  return { inbox, stack };
}

export type InboxScene = Awaited<ReturnType<typeof startInboxScene>>;

/** A contact with the mail that it got. */
export interface Reader extends Returned {
  id: number;
  hash: string;
  emailId: number;
  mail: string;
}

/** Contacts who got a mail to their segment. */
export async function readersOf({ stack }: InboxScene, count: number): Promise<Reader[]> {
  const { made, api, mailsTo } = stack;
  const recipients = addresses("reader", count);
  const { id: segmentId, contactIds } = await segmentOf(stack, recipients);
  const emailId = await newsletterTo(stack, [segmentId]);
  await made(`emails/${emailId}/send`, {});
  return eventually(() =>
    Promise.all(
      contactIds.map(async (id, index) => {
        const [send] = ((await api("GET", `sends?contactId=${id}`)).body as Any).sends;
        const recipient = recipients[index] ?? "";
        const [mail] = mailsTo(recipient);
        assert.ok(mail && send?.state === "sent");
        const octets = mail.octets.replaceAll("\r\n ", " ");
        const [, messageId = ""] = /^Message-ID: <(.+)>\r$/im.exec(octets) ?? [];
        const [field = ""] = /^X-Tidings-Send: .*$/m.exec(octets) ?? [];
        return {
          ...{ id, hash: send.hash, emailId, recipient, messageId, mail: octets },
          ...{ to: mail.from, fields: [field.trim()] },
        };
      }),
    ),
  );
}

/** The inbox is looked into at once, and all mails of it are handled. */
export async function read({ stack, inbox }: InboxScene) {
  await stack.query("update content.jobs set due_at = now() where kind = 'inbox'");
  await eventually(async () => {
    for (const { flags } of await inbox.stored()) assert.match(flags, /[a-z]/);
  });
}
