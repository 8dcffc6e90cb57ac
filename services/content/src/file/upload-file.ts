import type { IncomingMessage } from "node:http";
import { create, toJsonString } from "@bufbuild/protobuf";
import { backgroundDeadline, type Database } from "@tidings/database/database";
import { UploadedFileSchema } from "@tidings/proto/tidings/content/v1/file";
import type { Actor } from "@tidings/rpc/actor";
import { withArrival } from "./arrival.ts";
import { directoryOf, isOfImages } from "./directory.ts";
import { requireUpload } from "./file-rights.ts";
import { filesLock, insertFile } from "./files.ts";
import { keepBytes } from "./keep-bytes.ts";
import { extensionByContent, mimeOf } from "./kind.ts";
import { noRoom, refused } from "./refused.ts";
import type { Saved, SaveOnce } from "./save-once.ts";
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
  publicUrl: string;
}

/** Takes a file into a directory, under a name that we make. Throws a Fault for what is not taken; then nothing is kept. */
export function uploadFile(
  context: UploadContext,
  request: IncomingMessage,
  { actor, directory: sent, saveOnce }: { actor: Actor; directory: string; saveOnce: SaveOnce },
): Promise<Saved> {
  const { arrivals: folder, bytesMax, publicUrl } = context;
  const directory = directoryOf(sent);
  requireUpload(actor, directory);
  return withArrival({ request, folder, bytesMax, missing: refused }, async (arrived) => {
    const { path, name: sentName, size } = arrived;
    const extension = await extensionByContent(path, sentName);
    const name = newStoredName(extension);
    const row = [name, directory, extension, mimeOf(extension), size, actor.id];
    const link = new URL(`/media/${directory}/${name}`, publicUrl).href;
    const file = create(UploadedFileSchema, { name, ...(isOfImages(directory) && { link }) });
    return keepBytes(context.store, { name, path }, () =>
      saveOnce(arrived, async () => {
        await insert(context, row);
        return toJsonString(UploadedFileSchema, file);
      }),
    );
  });
}

async function insert({ database, allBytesMax, userBytesMax }: UploadContext, row: unknown[]): Promise<void> {
  await database.transaction(backgroundDeadline(), async (transaction) => {
    filesLock.exclusive(transaction);
    const added = await transaction.query(insertFile, [...row, allBytesMax, userBytesMax]);
    if (added.length === 0) throw noRoom(allBytesMax, userBytesMax);
  });
}
