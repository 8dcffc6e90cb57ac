import type { Database } from "@tidings/database/database";
import { Verb } from "@tidings/proto/tidings/api/v1/options";
import type { FileService } from "@tidings/proto/tidings/content/v1/file";
import type { Handlers } from "@tidings/rpc/definition";
import { inUse, notFound } from "@tidings/rpc/fault";
import { directoryOf } from "./directory.ts";
import { reachOfFiles } from "./file-rights.ts";
import { deleteFile, findUse, listDirectory, removeStored } from "./files.ts";

/** Handlers that list and delete uploaded files. */
export function fileHandlers(database: Database): Handlers<typeof FileService> {
  return {
    async listFiles({ directory, subdirectory }, { actor, deadlineMs }) {
      const { isAll, userId } = reachOfFiles(actor, Verb.VIEW);
      const values = [directoryOf(directory, subdirectory), isAll, userId];
      const rows = await database.query(listDirectory, values, deadlineMs);
      return { names: rows.map(({ name }) => name ?? "") };
    },
    async deleteFile({ directory, name }, { actor, deadlineMs }) {
      const { isAll, userId } = reachOfFiles(actor, Verb.DELETE);
      const known = directoryOf(directory);
      await database.transaction(deadlineMs, async (transaction) => {
        const rows = await transaction.query(deleteFile, [known, name, isAll, userId]);
        if (rows.length === 0) throw notFound("File does not exist");
        const [use] = await transaction.query(findUse, [name]);
        if (use) throw inUse("The file is shown in something that is kept, and cannot be deleted.");
        removeStored(transaction, [name]);
      });
      return {};
    },
  };
}
