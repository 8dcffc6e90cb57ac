import type { IncomingMessage } from "node:http";
import { create } from "@bufbuild/protobuf";
import { backgroundDeadline, type Database } from "@tidings/database/database";
import { mayBeCommitted } from "@tidings/database/failure";
import { type UploadedFile, UploadedFileSchema } from "@tidings/proto/tidings/content/v1/file";
import type { Actor } from "@tidings/rpc/actor";
import { withArrival } from "./arrival.ts";
import { directoryOf, isOfImages } from "./directory.ts";
import { requireUpload } from "./file-rights.ts";
import { filesLock, insertFile } from "./files.ts";
import { extensionByContent, mimeOf } from "./kind.ts";
import { noRoom, refused } from "./refused.ts";
import type { FileStore } from "./store.ts";
import { newStoredName } from "./stored-name.ts";

export interface UploadContext {
  database: Database;
  store: FileStore;
  /** Where uploads lie until they are taken. */
  arrivals: string;
  bytesMax: number;
  /** The bytes of all uploads together. */
  allBytesMax: number;
  /** Bytes that the uploads of one user may have. */
  userBytesMax: number;
  /** Where people find what is published. */
  siteUrl: string;
}

/** Takes a file into a directory, under a name that we make. Throws a Fault for what is not taken; then nothing is kept. */
export function uploadFile(
  context: UploadContext,
  request: IncomingMessage,
  { actor, directory: sent }: { actor: Actor; directory: string },
): Promise<UploadedFile> {
  const { arrivals: folder, bytesMax, siteUrl } = context;
  const directory = directoryOf(sent);
  requireUpload(actor, directory);
  return withArrival(
    { request, folder, bytesMax, missing: refused },
    async ({ path, name: sentName, size }) => {
      const extension = await extensionByContent(path, sentName);
      const name = newStoredName(extension);
      const row = [name, directory, extension, mimeOf(extension), size, actor.id];
      await keep(context, { name, path, row });
      const link = new URL(`/media/${directory}/${name}`, siteUrl).href;
      return create(UploadedFileSchema, { name, ...(isOfImages(directory) && { link }) });
    },
  );
}

/**
 * The bytes first, then their row. Where the row is certainly not written the bytes go again. After a commit that got no answer
 * they stay: the row may be there, and if it is not the sweep takes them.
 */
async function keep(
  { database, store, allBytesMax, userBytesMax }: UploadContext,
  { name, path, row }: { name: string; path: string; row: unknown[] },
): Promise<void> {
  await store.put(name, path);
  try {
    await database.transaction(backgroundDeadline(), async (transaction) => {
      filesLock.exclusive(transaction);
      const added = await transaction.query(insertFile, [...row, allBytesMax, userBytesMax]);
      if (added.length === 0) throw noRoom(allBytesMax, userBytesMax);
    });
  } catch (error) {
    if (!mayBeCommitted(error)) await store.delete(name).catch(() => undefined); // the sweep comes to it
    throw error;
  }
}
