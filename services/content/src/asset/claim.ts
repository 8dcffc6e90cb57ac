import { prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import { Verb } from "@tidings/proto/tidings/api/v1/options";
import type { Asset } from "@tidings/proto/tidings/content/v1/asset";
import type { Changed } from "@tidings/resource/repository-options";
import type { Call } from "@tidings/rpc/call";
import { reachOfFiles } from "../file/file-rights.ts";
import { removeStored } from "../file/files.ts";

/** An upload that is no asset's yet. */
export interface ClaimableFile {
  extension: string;
  mime: string;
  size: number;
}

/** Locked until the write is done: who comes second finds it claimed. */
const claimableStatement = prepared(
  "files_claimable",
  `select name, extension, mime, size from files
   where name = any($1::text[]) and asset_id is null and ($2::boolean or created_by = $3::integer) and (directory = 'assets' or starts_with(directory, 'assets/'))
   order by name for update`,
);

/** All that an asset had, but for what it has now. */
const releaseStatement = prepared(
  "files_release",
  `delete from files f using unnest($1::integer[], $2::text[]) as kept (asset_id, name)
   where f.asset_id = kept.asset_id and f.name is distinct from kept.name
   returning f.name`,
);

const claimStatement = prepared(
  "files_claim",
  `update files f set asset_id = claimed.asset_id from unnest($1::integer[], $2::text[]) as claimed (asset_id, name)
   where f.name = claimed.name and f.asset_id is null`,
);

/** The uploads of these names that an asset of the caller may have, by name. */
export async function claimableFiles(
  transaction: Transaction,
  names: string[],
  { actor }: Call,
): Promise<Map<string, ClaimableFile>> {
  if (names.length === 0) return new Map();
  const { isAll, userId } = reachOfFiles(actor, Verb.EDIT);
  const rows = await transaction.query(claimableStatement, [names, isAll, userId]);
  return new Map(
    rows.map(({ name, extension, mime, size }) => [
      name ?? "",
      { extension: extension ?? "", mime: mime ?? "", size: Number(size) },
    ]),
  );
}

/** Gives assets their files, and lets those go that they have no more, with their bytes. */
export async function resolveFiles(transaction: Transaction, changes: Changed<Asset>[]): Promise<void> {
  const ids = changes.map(({ before, after }) => (after ?? before)?.id ?? 0);
  const names = changes.map(({ after }) =>
    after?.storageLocation === "remote" ? null : (after?.file ?? null),
  );
  const released = await transaction.query(releaseStatement, [ids, names]);
  removeStored(
    transaction,
    released.map(({ name }) => name ?? ""),
  );
  transaction.execute(claimStatement, [ids, names]);
}
