import { statSync } from "node:fs";
import { open, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate as pause } from "node:timers/promises";
import { parseMail } from "@tidings/mail/parse-mail";
import { limited } from "@tidings/runtime/limited";
import { slices } from "@tidings/runtime/slices";

/** A mail in the folder, as a list shows it. */
export interface FolderMail {
  /** The message id, which is the name of its file. */
  id: string;
  /** The send or notice that it belongs to. */
  hash: string;
  /** In milliseconds since 1970. */
  keptAt: number;
  bytes: number;
  subject: string;
  from: string;
  to: string;
}

interface AskedMails {
  search: string;
  after: string;
  count: number;
}

/** The mails that `fileTransport` keeps in a folder, with an index of them in memory. */
export interface MailFolder {
  /** A page of the mails, the latest first. `next` is `after` of the page behind it, and empty where this is the last. */
  list(asked: AskedMails): Promise<{ mails: FolderMail[]; next: string }>;
  find(id: string): Promise<FolderMail | undefined>;
  /** The octets of a mail; undefined where it is gone, or too large to be one of ours. */
  read(mail: FolderMail): Promise<Buffer | undefined>;
  /** All mails, once the oldest ones beyond the bounds of the folder are deleted. */
  bounded(): Promise<FolderMail[]>;
  remove(mails: FolderMail[]): Promise<void>;
}

/** The folder is for a look at recent mails: the oldest ones beyond either bound are deleted. */
const MAILS_MAX = 10_000;
/** Attachments have 25 MB at most, which are a third more as text. */
const MAIL_BYTES_MAX = 50 * 1024 * 1024;
const BYTES_MAX = 1024 * 1024 * 1024;
/** `fileTransport` names files so. All other files of the folder are left alone. */
const NAME = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})@[\w.@+-]+\.eml$/;
/** The fields that a list shows stand in the first octets. */
const HEAD_BYTES = 16 * 1024;
const SHOWN_LENGTH_MAX = 300;
const READ_AT_ONCE = 32;
/** Other work of the process needs the threads for files, too. */
const REMOVED_AT_ONCE = 2;
/** A promise for each of 100,000 files would take far longer than asking for so many at once. */
const STATS_AT_ONCE = 100;

export function mailFolder(folder: string, mailsMax = MAILS_MAX): MailFolder {
  const known = new Map<string, FolderMail>();
  /** The mails within the bounds, the latest first, with their heads. */
  let ordered: FolderMail[] = [];
  const withHead = new WeakSet<FolderMail>();
  const oneAtATime = limited(1);

  const refresh = async () => {
    const names = (await readdir(folder).catch(nothing)).filter((name) => NAME.test(name));
    const ids = new Set(names.map((name) => name.slice(0, -".eml".length)));
    const gone = [...known.keys()].filter((id) => !ids.has(id));
    for (const id of gone) known.delete(id);
    const added = [...ids].filter((id) => !known.has(id));
    for (const slice of slices(added, STATS_AT_ONCE)) {
      for (const mail of slice.flatMap((id) => described(folder, id) ?? [])) known.set(mail.id, mail);
      await pause();
    }
    if (gone.length + added.length === 0) return;
    const latest = [...known.values()].toSorted(byAge);
    ordered = latest.slice(0, keptCount(latest, mailsMax));
    await inTurns(
      ordered.filter((mail) => !withHead.has(mail)),
      READ_AT_ONCE,
      async (mail) => {
        Object.assign(mail, await readHead(folder, mail.id));
        withHead.add(mail);
      },
    );
  };
  const remove = async (mails: FolderMail[]) => {
    await inTurns(mails, REMOVED_AT_ONCE, ({ id }) => rm(pathOf(folder, id), { force: true }));
    for (const { id } of mails) known.delete(id);
    ordered = ordered.filter(({ id }) => known.has(id));
  };
  const fresh = () => oneAtATime(refresh);
  return {
    async list({ search, after, count }) {
      await fresh();
      const found = matching(ordered, search, after, count + 1);
      const mails = found.slice(0, count);
      const last = mails.at(-1);
      return { mails, next: last && found.length > count ? positionOf(last) : "" };
    },
    async find(id) {
      if (!known.has(id)) await fresh();
      return known.get(id);
    },
    async read({ id, bytes }) {
      return bytes > MAIL_BYTES_MAX ? undefined : readFile(pathOf(folder, id)).catch(() => undefined);
    },
    async bounded() {
      await fresh();
      const within = new Set(ordered);
      await remove([...known.values()].filter((mail) => !within.has(mail)));
      return ordered;
    },
    remove,
  };
}

function pathOf(folder: string, id: string): string {
  return join(folder, `${id}.eml`);
}

/** The folder is made with the first mail. */
function nothing(error: NodeJS.ErrnoException): string[] {
  if (error.code === "ENOENT") return [];
  throw error;
}

async function inTurns<T>(items: T[], atOnce: number, work: (item: T) => Promise<void>): Promise<void> {
  const turn = limited(atOnce);
  await Promise.all(items.map((item) => turn(() => work(item))));
}

/** Undefined for a file that was deleted meanwhile. */
function described(folder: string, id: string): FolderMail | undefined {
  const found = statSync(pathOf(folder, id), { throwIfNoEntry: false });
  if (!found?.isFile()) return undefined;
  const hash = NAME.exec(`${id}.eml`)?.[1] ?? "";
  return { id, hash, keptAt: Math.trunc(found.mtimeMs), bytes: found.size, subject: "", from: "", to: "" };
}

async function readHead(
  folder: string,
  id: string,
): Promise<Pick<FolderMail, "subject" | "from" | "to"> | undefined> {
  const octets = await firstOctets(pathOf(folder, id)).catch(() => undefined);
  if (!octets) return undefined;
  const end = octets.indexOf("\r\n\r\n");
  const head = await parseMail(end < 0 ? octets : octets.subarray(0, end + 4)).catch(() => undefined);
  if (!head) return undefined;
  const { headers, subject, from } = head;
  const to = headers.find(({ name }) => name.toLowerCase() === "x-envelope-to")?.value ?? "";
  const short = (text: string) => text.slice(0, SHOWN_LENGTH_MAX).toWellFormed();
  return { subject: short(subject), from: short(from), to: short(to.replaceAll(/[<>]/g, "")) };
}

async function firstOctets(path: string): Promise<Buffer> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(HEAD_BYTES), position: 0 });
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

function byAge(a: FolderMail, b: FolderMail): number {
  return b.keptAt - a.keptAt || (a.id < b.id ? 1 : -1);
}

/** How many of the mails are within the bounds of the folder. */
function keptCount(ordered: FolderMail[], mailsMax: number): number {
  let bytes = 0;
  const beyond = ordered.findIndex((mail, index) => {
    bytes += mail.bytes;
    return index >= mailsMax || bytes > BYTES_MAX;
  });
  return beyond < 0 ? ordered.length : beyond;
}

/** A mail's place in the order, which stays a place when the mail is gone. */
function positionOf({ keptAt, id }: FolderMail): string {
  return `${keptAt} ${id}`;
}

function matching(ordered: FolderMail[], search: string, after: string, count: number): FolderMail[] {
  const [keptAt, id = ""] = after.split(" ");
  const place = { keptAt: Number(keptAt), id };
  const isBehind = (mail: FolderMail) =>
    mail.keptAt < place.keptAt || (mail.keptAt === place.keptAt && mail.id < place.id);
  const sought = search.toLowerCase();
  const found: FolderMail[] = [];
  for (const mail of ordered) {
    if (found.length === count) break;
    const isFound = [mail.subject, mail.from, mail.to].some((text) => text.toLowerCase().includes(sought));
    if (isFound && (after === "" || isBehind(mail))) found.push(mail);
  }
  return found;
}
