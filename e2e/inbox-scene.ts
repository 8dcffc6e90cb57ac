import assert from "node:assert/strict";
import { after } from "node:test";
import { createAuthority } from "@tidings/testkit/certificates";
import { eventually } from "@tidings/testkit/eventually";
import { startImapServer } from "@tidings/testkit/imap-server";
import { startMailSink } from "@tidings/testkit/mail-sink";
import type { Returned } from "@tidings/testkit/returned-mails";
import { temporaryFolder } from "@tidings/testkit/temporary-folder";
import { startVisitedStack } from "./visited-stack.ts";

/** An installation that sends to a mail server, and reads what comes back in a real Dovecot. */

export const INBOX = "bounces@inbox.example";

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it knows to be there
type Any = any;

/** Starts it for one test file, with so many processes that read the inbox. */
export async function startInboxScene(processes = 1) {
  const folder = await temporaryFolder();
  const sink = await startMailSink();
  const authority = await createAuthority(folder.path);
  const certificates = await authority.issue("imap", ["127.0.0.1"]);
  const inbox = await startImapServer({ certificates, password: "secret" });
  const stack = await startVisitedStack({
    replicas: { content: processes },
    env: {
      content: {
        MAIL_URL: `smtp://127.0.0.1:${sink.port}?tls=off`,
        MAIL_FROM: "Shop <shop@mail.example>",
        MAIL_INBOX_URL: `imaps://reader:secret@127.0.0.1:${inbox.tlsPort}`,
        MAIL_INBOX_ADDRESS: INBOX,
        NODE_EXTRA_CA_CERTS: authority.caFile,
      },
    },
  });
  after(async () => {
    await stack.stop();
    await inbox.close();
    await sink.close();
    await folder.remove();
  });
  return { sink, inbox, stack };
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
export async function readersOf({ stack, sink }: InboxScene, count: number): Promise<Reader[]> {
  const { made, api } = stack;
  const addresses = Array.from({ length: count }, (_, index) => `reader-${index}@example.org`);
  const contacts = await Promise.all(addresses.map((email) => made("contacts/new", { email })));
  const ids = contacts.map(({ contact }) => contact.id);
  const { list } = await made("segments/new", { name: "Readers" });
  await made(`segments/${list.id}/contacts/add`, { ids });
  const { email } = await made("emails/new", {
    ...{ name: "News", subject: "News", emailType: "list", isPublished: true, lists: [list.id] },
    customHtml: "<p>Hello</p>",
  });
  await made(`emails/${email.id}/send`, {});
  return eventually(() =>
    Promise.all(
      ids.map(async (id, index) => {
        const [send] = ((await api("GET", `sends?contactId=${id}`)).body as Any).sends;
        const recipient = addresses[index] ?? "";
        const mail = sink.taken.find(({ to }) => to.includes(recipient));
        assert.ok(mail && send?.state === "sent");
        const octets = mail.octets.replaceAll("\r\n ", " ");
        const [, messageId = ""] = /^Message-ID: <(.+)>\r$/im.exec(octets) ?? [];
        const [field = ""] = /^X-Tidings-Send: .*$/m.exec(octets) ?? [];
        return {
          ...{ id, hash: send.hash, emailId: email.id, recipient, messageId, mail: octets },
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
