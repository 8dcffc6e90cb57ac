import type { Database } from "@tidings/database/database";
import type { KnownContacts } from "../visit/known-contact.ts";
import { type EmailRevision, revisionReader } from "./email-revision.ts";
import { madeOnce } from "./made-once.ts";
import { readReader } from "./mail-reader.ts";
import { compileMail, type MailTemplate } from "./mail-template.ts";
import { readerOfValues, valuesOf } from "./mail-values.ts";
import { type RenderedMail, type RenderParts, renderMail } from "./render-mail.ts";
import type { StoredSend } from "./stored-send.ts";
import { linkTracker, untracked } from "./track-links.ts";

/** A mail that is written. */
interface WrittenMail {
  mail: RenderedMail;
  revision: EmailRevision;
  /** The address of the contact; empty where there is none, and for a mail that went out with values that were kept. */
  address: string;
  /** The values that it was made of, to be kept; undefined where that is not needed. */
  values: string | undefined;
}

/** Writes the mail of a send: with the values that it went out with, where they were kept, or else with the present ones. */
export type RenderSend = (send: StoredSend) => Promise<WrittenMail>;

export interface RenderSendOptions extends RenderParts {
  database: Database;
  contacts: KnownContacts;
  /** A picture in the mail says that it was opened. */
  hasPixel: boolean;
  /** Links lead by way of us. */
  tracksLinks: boolean;
  /** The values of mails are to be kept. */
  keepsValues: boolean;
}

const COMPILED_MAX = 200;

/** Writes mails of sends. Each revision is read and compiled once. */
export function sendRenderer(options: RenderSendOptions): RenderSend {
  const { database, hasPixel, tracksLinks, keepsValues } = options;
  const revisionOf = revisionReader(database);
  const once = madeOnce<MailTemplate>(COMPILED_MAX);
  const templateOf = (revision: EmailRevision, given: string[]): Promise<MailTemplate> => {
    const key = JSON.stringify([revision.emailId, revision.version, ...given.toSorted()]);
    const trackLinks = tracksLinks
      ? linkTracker(database, { channel: "email", channelId: revision.emailId })
      : untracked;
    return once(key, () => compileMail(revision, { given, trackLinks, hasPixel }));
  };
  return async (send) => {
    const revision = await revisionOf(send.emailId, send.emailVersion);
    const template = await templateOf(revision, Object.keys(send.tokens));
    const { contactId, values: kept, sentAt } = send;
    const now = kept?.at ?? sentAt ?? database.now();
    const about = kept
      ? readerOfValues(kept, revision)
      : await readReader(options, template, { contactId, revision, now });
    const reader = { ...about, send, now, tokens: new Map(Object.entries(send.tokens)) };
    const mail = await renderMail(revision, template, reader, options);
    return {
      mail,
      revision,
      address: about.fields.get("email") ?? "",
      values: keepsValues ? valuesOf(template, reader) : undefined,
    };
  };
}
