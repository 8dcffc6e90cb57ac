import { type DescMessage, getOption } from "@bufbuild/protobuf";
import { resource, Verb } from "@tidings/proto/tidings/api/v1/options";
import type { Call } from "@tidings/rpc/call";
import { reach } from "@tidings/rpc/permission";
import { type Database, prepared } from "./database.ts";
import type { ReferenceKind } from "./reference.ts";
import { placeOf } from "./resource.ts";

/**
 * A resource of the same service that others refer to: those which the caller may see. `shown` is what they show of one, as
 * SQL for JSON.
 */
export function resourceReference(database: Database, schema: DescMessage, shown: string): ReferenceKind {
  const { table } = placeOf(schema);
  const { permission } = getOption(schema, resource);
  const isCreators = schema.fields.some(({ name }) => name === "created_by");
  const find = prepared(
    `${table}_referred`,
    `select id from ${table} where id = any ((select $1::integer[])::integer[])
     and ($2 or ${isCreators ? "created_by" : "null"} = $3::integer)`,
  );
  const show = prepared(
    `${table}_shown`,
    `select id, ${shown} as json from ${table} where id = any ((select $1::integer[])::integer[])`,
  );
  return {
    async find({ query }, ids, { actor }: Call) {
      const seen = reach(actor, permission, Verb.VIEW);
      if (seen === "none") return new Map();
      const rows = await query(find, [ids, seen === "all", actor.id]);
      return new Map(rows.map((row) => [Number(row.id), row]));
    },
    async show(ids, { deadlineMs }) {
      const rows = await database.query(show, [ids], deadlineMs);
      return new Map(rows.map(({ id, json }) => [Number(id), Buffer.from(json ?? "null")]));
    },
  };
}
