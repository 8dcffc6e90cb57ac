import type { FileService } from "@tidings/proto/tidings/content/v1/file";
import type { Handlers } from "@tidings/rpc/definition";
import { notFound } from "@tidings/rpc/fault";
import type { Database } from "@tidings/store/database";
import { directoryOf } from "./directory.ts";
import { deleteFile, listDirectory, removeStored } from "./files.ts";

/** What is told of uploaded files, and their deletion. */
export function fileHandlers(database: Database): Handlers<typeof FileService> {
  return {
    async listFiles({ directory, subdirectory }, { deadlineMs }) {
      const rows = await database.query(listDirectory, [directoryOf(directory, subdirectory)], deadlineMs);
      return { names: rows.map(({ name }) => name ?? "") };
    },
    async deleteFile({ directory, name }, { deadlineMs }) {
      const known = directoryOf(directory);
      await database.transaction(deadlineMs, async (transaction) => {
        const rows = await transaction.query(deleteFile, [known, name]);
        if (rows.length === 0) throw notFound("File does not exist");
        removeStored(transaction, [name]);
      });
      return {};
    },
  };
}
