import { hasOption } from "@bufbuild/protobuf";
import { type Database, prepared } from "@tidings/database/database";
import { resource } from "@tidings/proto/tidings/api/v1/options";
import { optionOf } from "@tidings/rpc/option";
import { awaitRows } from "./await-rows.ts";
import type { ReferenceKind } from "./reference.ts";

const findStatement = prepared(
  "categories_referred",
  "select id, bundle from categories where id = any((select $1::integer[])::integer[])",
);
/** The JSON that other resources embed of a row of `categories`. */
export const CATEGORY_JSON = `json_build_object('createdByUser', null, 'modifiedByUser', null, 'id', id,
  'title', title, 'alias', alias, 'description', description, 'color', color, 'bundle', bundle)`;
const showStatement = prepared(
  "categories_shown",
  `select id, ${CATEGORY_JSON} as json
   from categories where id = any((select $1::integer[])::integer[])`,
);

/** A category, out of the table `categories` of the service: its own, or a replica. */
export function categoryReference(database: Database): ReferenceKind {
  return {
    // The owner of categories has no others to wait for: there, waiting for a missing one is in vain.
    await: (ids, { deadlineMs }) => awaitRows(database, "categories", ids, deadlineMs),
    async find({ query }, ids) {
      const rows = await query(findStatement, [ids]);
      return new Map(rows.map((row) => [Number(row.id), row]));
    },
    missing: (id) => `Category ${id} does not exist`,
    refuse({ id, bundle }, { schema }) {
      const own = hasOption(schema, resource) ? optionOf(schema, resource).bundle : "";
      if (bundle === own || bundle === "global") return undefined;
      return `The category ${id} is for another kind of thing.`;
    },
    async show(database, ids, { deadlineMs }) {
      const rows = await database.query(showStatement, [ids], deadlineMs);
      return new Map(rows.map(({ id, json }) => [Number(id), Buffer.from(json ?? "null")]));
    },
  };
}
