import { create, type DescMessage } from "@bufbuild/protobuf";
import { type Database, prepared } from "@tidings/database/database";
import { encodeEvent } from "@tidings/messaging/outbox";
import { type Snapshot, SnapshotSchema, SnapshotService } from "@tidings/proto/tidings/api/v1/snapshot";
import { notFound } from "@tidings/rpc/fault";
import { type Implementation, implement } from "@tidings/rpc/server";
import { columnsOf, fillFromRow } from "./columns.ts";
import { placeOf } from "./resource.ts";

/** Entities of one type, in the order of ids, from after `afterId` on. */
export interface SnapshotSource {
  type: string;
  list(page: { afterId: number; pageSize: number }, deadlineMs: number): Promise<Snapshot[]>;
}

const PAGE_MAX = 1_000;

/** The rows of a resource's table, as its events carry them. */
export function resourceSnapshots(database: Database, schema: DescMessage): SnapshotSource {
  const { table } = placeOf(schema);
  const columns = columnsOf(schema);
  const names = columns.map(({ name }) => `"${name}"`).join(", ");
  const statement = prepared(
    `${table}_snapshots`,
    `select ${names}, version from ${table} where id > $1 order by id limit $2::integer`,
  );
  return {
    type: schema.typeName,
    async list({ afterId, pageSize }, deadlineMs) {
      const rows = await database.query(statement, [afterId, pageSize], deadlineMs);
      return rows.map((row) =>
        create(SnapshotSchema, {
          id: Number(row.id),
          version: Number(row.version),
          payload: encodeEvent(schema, fillFromRow(create(schema), columns, row)),
        }),
      );
    },
  };
}

export function implementSnapshots(sources: SnapshotSource[]): Implementation {
  return implement(SnapshotService, {
    async listSnapshots({ type, afterId, pageSize }, { deadlineMs }) {
      const source = sources.find((candidate) => candidate.type === type);
      if (!source) throw notFound();
      return {
        snapshots: await source.list({ afterId, pageSize: Math.min(pageSize, PAGE_MAX) }, deadlineMs),
      };
    },
  });
}
