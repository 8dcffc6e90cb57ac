import { backgroundDeadline, type Database, queryable } from "@tidings/database/database";
import { base64Lines, type MailAttachment } from "@tidings/mail/attachment";
import { coalesce } from "@tidings/runtime/coalesce/coalesce";
import { LRUCache } from "lru-cache";
import { type AttachableFile, attachableAssets, tooLarge } from "../asset/attachable.ts";
import type { FileStore } from "../file/store.ts";
import { SendRefused } from "./compose-send.ts";

/** The attachments of a mail as it leaves. */
export interface Attached {
  attachments: MailAttachment[];
  /** The assets that they are. */
  assetIds: number[];
  /** Why assets of the email are not among them; undefined where all are. */
  note: string | undefined;
}

/** The attachments of mails with these assets. */
export type ReadAttachments = (assetIds: number[]) => Promise<Attached>;

const CACHE_BYTES = 128 * 1024 * 1024;
/** Base64 in lines has 78 octets for 57 of the file. */
const BASE64 = 78 / 57;
const NONE: Attached = { attachments: [], assetIds: [], note: undefined };

/**
 * Reads the files of published assets: a file once for all mails that have it, of which only its part of these mails is held, and the rows of mails that are written at the same time by one query. An asset that is
 * gone, unpublished or elsewhere on the web is left out, and named. Throws SendRefused for more than 25 MB together, and for a file that is lost.
 */
export function attachmentReader(database: Database, store: FileStore): ReadAttachments {
  const cache = new LRUCache<string, MailAttachment>({ maxSize: CACHE_BYTES });
  const find = coalesce((sets: number[][]) =>
    attachableAssets(queryable(database, backgroundDeadline()), sets.flat()),
  );
  const open = async (asked: AttachableFile): Promise<MailAttachment> => {
    const known = cache.get(keyOf(asked));
    if (known) return known;
    const opened = await store.open(asked.file);
    if (!opened) throw new SendRefused(`The file of asset ${asked.id} is lost.`);
    const attachment = { name: asked.name, type: asked.type, lines: await base64Lines(opened) };
    cache.set(keyOf(asked), attachment, { size: Math.ceil(asked.size * BASE64) + 1 });
    return attachment;
  };
  const read = coalesce(async (same: AttachableFile[]) => Promise.all(same.slice(0, 1).map(open)));
  return async (assetIds) => {
    if (assetIds.length === 0) return NONE;
    const { files, missing } = await find("assets", assetIds);
    const own = files.filter(({ id }) => assetIds.includes(id));
    const reason = tooLarge(own);
    if (reason) throw new SendRefused(reason);
    const left = assetIds.flatMap((id) => (missing.has(id) ? `asset ${id} ${missing.get(id)}` : []));
    const attachments: MailAttachment[] = [];
    for (const file of own) attachments.push(...(await read(keyOf(file), file)));
    return {
      attachments,
      assetIds: own.map(({ id }) => id),
      note: left.length > 0 ? `Sent without an attachment: ${left.join(", ")}.` : undefined,
    };
  };
}

/** A file that is called otherwise is another attachment. */
function keyOf({ file, name, type }: AttachableFile): string {
  return JSON.stringify([file, name, type]);
}
