import type { Database } from "@tidings/database/database";
import type { KnownContacts } from "../visit/known-contact.ts";
import { type EmailRevision, revisionReader } from "./email-revision.ts";
import { madeOnce } from "./made-once.ts";
import { compileMail, type MailTemplate } from "./mail-template.ts";
import { type RenderedMail, type RenderParts, readReader, renderMail } from "./render-mail.ts";
import type { StoredSend } from "./stored-send.ts";
import { linkTracker } from "./track-links.ts";

/** The mail of a send, with dates as of `now` (milliseconds since 1970), and the present address of its contact; empty where there is none. */
export type RenderSend = (
  send: StoredSend,
  now?: number,
) => Promise<{ mail: RenderedMail; revision: EmailRevision; address: string }>;

export interface RenderSendOptions extends RenderParts {
  database: Database;
  contacts: KnownContacts;
  /** A picture in the mail says that it was opened. */
  hasPixel: boolean;
}

const COMPILED_MAX = 200;

/** Writes mails of sends. Each revision is read and compiled once. */
export function sendRenderer(options: RenderSendOptions): RenderSend {
  const { database, hasPixel } = options;
  const revisionOf = revisionReader(database);
  const once = madeOnce<MailTemplate>(COMPILED_MAX);
  const templateOf = (revision: EmailRevision, given: string[]): Promise<MailTemplate> => {
    const key = JSON.stringify([revision.emailId, revision.version, ...given.toSorted()]);
    const trackLinks = linkTracker(database, { channel: "email", channelId: revision.emailId });
    return once(key, () => compileMail(revision, { given, trackLinks, hasPixel }));
  };
  return async (send, now = database.now()) => {
    const revision = await revisionOf(send.emailId, send.emailVersion);
    const template = await templateOf(revision, Object.keys(send.tokens));
    const about = await readReader(options, template, { contactId: send.contactId, revision });
    const reader = { ...about, send, now, tokens: new Map(Object.entries(send.tokens)) };
    const mail = await renderMail(revision, template, reader, options);
    return { mail, revision, address: about.fields.get("email") ?? "" };
  };
}
