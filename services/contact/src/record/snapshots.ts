import { create } from "@bufbuild/protobuf";
import { prepared } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import { SnapshotSchema } from "@tidings/proto/tidings/api/v1/snapshot";
import type { SnapshotSource } from "@tidings/resource/snapshots";
import { catalogueOf, type FieldCatalogue, type FieldContext, type FieldSet } from "../field/catalogue.ts";
import { withCustomValues } from "../field/values.ts";

interface RecordKind {
  /** The message of the event of a save. */
  type: string;
  table: string;
  /** The select list of a row whose table is called `alias`. */
  select: string;
  alias: string;
  fields(catalogue: FieldCatalogue): FieldSet;
  /** The event message of a record as it is. */
  saved(row: Row): Uint8Array;
}

/** Records as the event of their last save carried them, for services that build a replica. */
export function recordSnapshots(
  { database, catalogues }: Pick<FieldContext, "database" | "catalogues">,
  { type, table, select, alias, fields, saved }: RecordKind,
): SnapshotSource {
  const statement = prepared(
    `${table}_snapshots`,
    `select ${select} from ${table} ${alias} where ${alias}.id > $1 order by ${alias}.id limit $2::integer`,
  );
  return {
    type,
    async list({ afterId, pageSize }, deadlineMs) {
      const rows = await database.query(statement, [afterId, pageSize], deadlineMs);
      const set = fields(await catalogueOf(catalogues, rows));
      return rows.map((row) =>
        create(SnapshotSchema, {
          id: Number(row.id),
          version: Number(row.version),
          payload: saved(withCustomValues(row, set)),
        }),
      );
    },
  };
}
