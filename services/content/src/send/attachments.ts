import { buffer } from "node:stream/consumers";
import type { Database } from "@tidings/database/database";
import type { MailAttachment } from "@tidings/mail/attachment";
import { coalesce } from "@tidings/runtime/coalesce";
import { LRUCache } from "lru-cache";
import { findAsset } from "../asset/find-asset.ts";
import type { FileStore } from "../file/store.ts";

/** Larger mails are refused by most servers. */
const BYTES_MAX = 25 * 1024 * 1024;
const CACHE_BYTES = 128 * 1024 * 1024;
/** A file is kept with the part of a mail that is made of it. */
const WITH_BASE64 = 2.4;

/**
 * Reads the files of published assets, those of one email once. Assets that are gone, unpublished, elsewhere on the web, or above 25 MB together with those
 * before them are left out.
 */
export function attachmentReader(database: Database, store: FileStore) {
  const cache = new LRUCache<string, MailAttachment>({
    maxSize: CACHE_BYTES,
    sizeCalculation: ({ bytes }) => Math.ceil(bytes.length * WITH_BASE64) + 1,
  });
  const read = coalesce(async ([id = 0]: number[]) => {
    const asset = await findAsset(database, `/asset/${id}`);
    if (!asset?.isOpen || asset.isRemote || asset.size > BYTES_MAX) return undefined;
    const known = cache.get(asset.file);
    if (known) return known;
    const opened = await store.open(asset.file);
    if (!opened) return undefined;
    const name = asset.title.endsWith(`.${asset.extension}`)
      ? asset.title
      : `${asset.title}.${asset.extension}`;
    const attachment = { name, type: asset.mime, bytes: await buffer(opened) };
    cache.set(asset.file, attachment);
    return attachment;
  });
  return async (assetIds: number[]): Promise<MailAttachment[]> => {
    const attachments: MailAttachment[] = [];
    let size = 0;
    for (const id of assetIds) {
      const attachment = await read(String(id), id);
      if (!attachment || size + attachment.bytes.length > BYTES_MAX) continue;
      size += attachment.bytes.length;
      attachments.push(attachment);
    }
    return attachments;
  };
}
