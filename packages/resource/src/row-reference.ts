import { prepared } from "@tidings/database/database";
import { Verb } from "@tidings/proto/tidings/api/v1/options";
import { reach } from "@tidings/rpc/permission";
import type { ReferenceKind } from "./reference.ts";

/** Rows that entities refer to: of this service, or replicas of another one's. */
export interface ReferredRows {
  table: string;
  /** The permission whose view right decides which rows the caller may refer to. */
  permission: string;
  /** SQL: the rows of a user who sees only their own; `$3` is the user. */
  own: string;
  /** Columns that the kind's `refuse` reads, besides the id. */
  columns?: string[];
  /** SQL: the JSON that other resources embed of a row. */
  shown: string;
}

/** Finds those that the caller may see, and shows them. */
export function rowReference({
  table,
  permission,
  own,
  columns = [],
  shown,
}: ReferredRows): Pick<ReferenceKind, "find" | "show"> {
  const find = prepared(
    `${table}_referred`,
    `select ${["id", ...columns].join(", ")} from ${table} where id = any ((select $1::integer[])::integer[])
     and ($2 or ${own})`,
  );
  const show = prepared(
    `${table}_shown`,
    `select id, ${shown} as json from ${table} where id = any ((select $1::integer[])::integer[])`,
  );
  return {
    async find({ query }, ids, { actor }) {
      const seen = reach(actor, permission, Verb.VIEW);
      if (seen === "none") return new Map();
      const rows = await query(find, [ids, seen === "all", actor.id]);
      return new Map(rows.map((row) => [Number(row.id), row]));
    },
    async show(database, ids, { deadlineMs }) {
      const rows = await database.query(show, [ids], deadlineMs);
      return new Map(rows.map(({ id, json }) => [Number(id), Buffer.from(json ?? "null")]));
    },
  };
}
