import { create, type DescMessage } from "@bufbuild/protobuf";
import type { Database } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import type { Call } from "@tidings/rpc/call";
import { type Column, columnsOf, fillFromRow } from "./columns.ts";
import type { FindVisible } from "./needs.ts";
import { type Ownership, ownershipOf } from "./ownership.ts";
import { type ReferenceColumn, referenceColumns, showReferences } from "./reference.ts";
import type { RepositoryOptions, ResourceContext } from "./repository-options.ts";
import { placeOf, type Resource } from "./resource.ts";
import type { Locked, Stored } from "./row-change.ts";
import { type RowStatements, rowStatements } from "./row-statements.ts";

/** A table of a resource as reads and writes need it: made once for a repository. */
export interface RepositoryParts<T extends Resource, L> extends Pick<ResourceContext, "database" | "outbox"> {
  schema: DescMessage;
  options: RepositoryOptions<T, L>;
  columns: Column[];
  referring: ReferenceColumn[];
  ownership: Ownership;
  statements: RowStatements;
  findVisible: FindVisible;
  toStored(row: Row): Stored<T>;
  toLocked(row: Row): Locked<T>;
  /** Completes messages for the caller, in place. `from` is the database, or a transaction of it. */
  show(items: T[], call: Call, from: Database): Promise<void>;
}

export function repositoryParts<T extends Resource, L>(
  { database, outbox, references = {}, findVisible = findNone }: ResourceContext,
  schema: DescMessage,
  options: RepositoryOptions<T, L>,
): RepositoryParts<T, L> {
  const { table } = placeOf(schema);
  const columns = columnsOf(schema);
  const referring = referenceColumns(columns, references);
  const ownership = ownershipOf({ ...options, table }, columns);
  const toStored = (row: Row): Stored<T> => ({
    message: fillFromRow(create(schema) as T, columns, row),
    version: Number(row.version),
  });
  return {
    database,
    outbox,
    schema,
    options,
    columns,
    referring,
    ownership,
    statements: rowStatements(table, columns, ownership, options.deletion ?? "gone"),
    findVisible,
    toStored,
    toLocked: (row) => ({
      ...toStored(row),
      isOwn: row.is_own === "t",
      isShared: row.is_shared === "t",
    }),
    async show(items, call, from) {
      await showReferences(referring, from, items, call);
      await options.show?.(items, call, from);
    },
  };
}

/** A service without a finder lets properties name nothing. */
const findNone: FindVisible = async () => new Set();
