import type { DescMessage } from "@bufbuild/protobuf";
import { type Database, prepared } from "@tidings/database/database";
import { VisibleService } from "@tidings/proto/tidings/api/v1/visible";
import { notFound } from "@tidings/rpc/fault";
import { type Implementation, implement } from "@tidings/rpc/server";
import { placeOf } from "./resource.ts";

/** The rows of a type that properties of other entities may name. */
export interface VisibleRows {
  type: string;
  /** Returns the ids that exist; with `userId`, only rows that are shared or belong to that user. */
  find(asked: { ids: number[]; userId?: number | undefined }, deadlineMs: number): Promise<number[]>;
}

interface Among {
  /** SQL: is this row shown to a user who sees only their own? `$2` is the user. */
  own?: string;
  /** SQL: the rows that count at all. */
  where?: string;
}

/** The rows of the table that a resource has. */
export function visibleRows(
  database: Database,
  schema: DescMessage,
  { own = ownIn(schema), where = "true" }: Among = {},
): VisibleRows {
  const { table } = placeOf(schema);
  const statement = prepared(
    `${table}_visible`,
    `select id from ${table} where id = any ((select $1::integer[])::integer[])
     and ($2::integer is null or ${own}) and ${where}`,
  );
  return {
    type: schema.typeName,
    async find({ ids, userId }, deadlineMs) {
      const rows = await database.query(statement, [ids, userId ?? null], deadlineMs);
      return rows.map(({ id }) => Number(id));
    },
  };
}

/** Rows without a creator belong to no user. */
function ownIn({ fields }: DescMessage): string {
  return fields.some(({ name }) => name === "created_by") ? "created_by = $2" : "false";
}

export function implementVisible(sources: VisibleRows[]): Implementation {
  return implement(VisibleService, {
    async findVisible({ type, ids, userId }, { deadlineMs }) {
      const source = sources.find((candidate) => candidate.type === type);
      if (!source) throw notFound();
      return { ids: await source.find({ ids, userId }, deadlineMs) };
    },
  });
}
