import { setTimeout as pause } from "node:timers/promises";
import { backgroundDeadline, type Database, prepared } from "@tidings/database/database";
import type { Log } from "@tidings/runtime/log";
import { slices } from "@tidings/runtime/slices";
import type { FolderMail, MailFolder } from "./mail-folder.ts";

const ownersStatement = prepared(
  "kept_mails_owners",
  `select hash from sends where hash = any($1::uuid[])
   union all select hash from notices where hash = any($1::uuid[])`,
);
const SLICE = 1_000;
const EVERY_MS = 60_000;

/**
 * Deletes those of the mails whose send is gone, and answers the others. Sends and notices of a contact are deleted with it, so that its
 * mails are, too.
 */
export async function ownedMails<M extends FolderMail>(
  database: Database,
  folder: MailFolder,
  mails: M[],
  deadlineMs: number,
): Promise<M[]> {
  const rows =
    mails.length > 0
      ? await database.query(ownersStatement, [mails.map(({ hash }) => hash)], deadlineMs)
      : [];
  const owned = new Set(rows.map(({ hash }) => hash));
  const orphans = mails.filter(({ hash }) => !owned.has(hash));
  if (orphans.length > 0) await folder.remove(orphans);
  return mails.filter(({ hash }) => owned.has(hash));
}

/** Deletes mails without a send, and the oldest ones beyond the bounds of the folder, now and every minute. */
export function startTidyingMails(database: Database, folder: MailFolder, log: Log): { stop(): void } {
  const tidy = async () => {
    for (const slice of slices(await folder.bounded(), SLICE))
      await ownedMails(database, folder, slice, backgroundDeadline());
  };
  const stopped = new AbortController();
  const tidyOn = async () => {
    while (!stopped.signal.aborted) {
      await tidy().catch((error) => log.warn({ err: error }, "the folder of mails was not tidied"));
      await pause(EVERY_MS, undefined, { signal: stopped.signal, ref: false }).catch(() => undefined);
    }
  };
  void tidyOn();
  return { stop: () => stopped.abort() };
}
