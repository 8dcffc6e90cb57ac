import { buffer } from "node:stream/consumers";
import { backgroundDeadline, type Database, queryable } from "@tidings/database/database";
import type { MailAttachment } from "@tidings/mail/attachment";
import { coalesce } from "@tidings/runtime/coalesce";
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
/** A file is kept with the part of a mail that is made of it. */
const WITH_BASE64 = 2.4;
const NONE: Attached = { attachments: [], assetIds: [], note: undefined };

/**
 * Reads the files of published assets: a file once for all mails that have it, and the rows of mails that are written at the same time by one query. An asset that is
 * gone, unpublished or elsewhere on the web is left out, and named. Throws SendRefused for more than 25 MB together, and for a file that is lost.
 */
export function attachmentReader(database: Database, store: FileStore): ReadAttachments {
  const cache = new LRUCache<string, MailAttachment>({
    maxSize: CACHE_BYTES,
    sizeCalculation: ({ bytes }) => Math.ceil(bytes.length * WITH_BASE64) + 1,
  });
  const find = coalesce((sets: number[][]) =>
    attachableAssets(queryable(database, backgroundDeadline()), sets.flat()),
  );
  const open = async (asked: AttachableFile): Promise<MailAttachment> => {
    const known = cache.get(keyOf(asked));
    if (known) return known;
    const opened = await store.open(asked.file);
    if (!opened) throw new SendRefused(`The file of asset ${asked.id} is lost.`);
    const attachment = { name: asked.name, type: asked.type, bytes: await buffer(opened) };
    cache.set(keyOf(asked), attachment);
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
