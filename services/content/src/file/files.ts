import { prepared } from "@tidings/database/database";
import { advisoryLock } from "@tidings/database/lock";
import type { Transaction } from "@tidings/database/transaction";
import { jobsOf } from "@tidings/jobs/jobs";

/** Bytes that nobody has any more: by the name in the store. */
export const removalJobs = jobsOf("stored_file_removal");

const DIRECTORY_SHOWN_MAX = 10_000;

/** One upload at a time is added to all there are. */
export const filesLock = advisoryLock("files");

/** Adds nothing when all of them would have more than $7 bytes, or those of the user more than $8. */
export const insertFile = prepared(
  "files_insert",
  `insert into files (name, directory, extension, mime, size, created_by)
   select $1, $2, $3, $4, $5::integer, $6::integer
   where (select coalesce(sum(size), 0) from files) + $5::integer <= $7::bigint
     and (select coalesce(sum(size), 0) from files where created_by is not distinct from $6::integer) + $5::integer <= $8::bigint
   returning name`,
);

/** Files of an asset are with the asset, and in no directory any more. Sub-directories stand among the files. */
export const listDirectory = prepared(
  "files_list",
  `select name from (
     select name from files where directory = $1 and asset_id is null and ($2::boolean or created_by = $3::integer)
     union
     select split_part(substr(directory, length($1) + 2), '/', 1) from files
     where starts_with(directory, $1 || '/') and asset_id is null and ($2::boolean or created_by = $3::integer)) as entry
   order by name limit ${DIRECTORY_SHOWN_MAX}`,
);

export const deleteFile = prepared(
  "files_delete",
  `delete from files where directory = $1 and name = $2 and asset_id is null and ($3::boolean or created_by = $4::integer)
   returning name`,
);

const SHOWN_IN = ["emails", "pages", "dynamic_contents", "focus_items", "forms", "notifications"];

/** Where the name of a picture stands in anything that is shown: each table is read, which a deletion may cost. */
export const findUse = prepared(
  "files_use",
  SHOWN_IN.map(
    (table) =>
      `select '${table}' as used_in where exists (select from ${table} t where position($1 in t::text) > 0)`,
  ).join(" union all "),
);

export const findImage = prepared(
  "files_find",
  "select extension, mime, size from files where directory = $1 and name = $2",
);

/** Lets the bytes of these be deleted, once what says so is committed. */
export function removeStored(transaction: Transaction, names: string[]): void {
  removalJobs.add(
    transaction,
    names.map((key) => ({ key })),
  );
}
