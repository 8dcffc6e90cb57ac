import type { Projection } from "@tidings/projection/projection";
import { things } from "@tidings/projection/things";
import { Verb } from "@tidings/proto/tidings/api/v1/options";
import { type Form, FormSchema } from "@tidings/proto/tidings/content/v1/form";
import { reach } from "@tidings/rpc/permission";
import { awaitRows } from "@tidings/store/await-rows";
import { type Database, prepared, type Transaction } from "@tidings/store/database";
import type { ReferenceKind } from "@tidings/store/reference";

/** The table `forms`, as far as campaigns refer to them. `forget` takes those that are gone out of what refers to them. */
export function forms(forget: (transaction: Transaction, ids: number[]) => void): Projection {
  return things(FormSchema, {
    table: "forms",
    columns: {
      name: "text",
      alias: "text",
      form_type: "text",
      is_published: "boolean",
      created_by: "integer",
    },
    row: ({ name, alias, formType, isPublished, createdBy }: Form) => ({
      name,
      alias,
      form_type: formType ?? "",
      is_published: isPublished ?? true,
      created_by: createdBy,
    }),
    changed(transaction, { gone }) {
      if (gone.length > 0) forget(transaction, gone);
    },
  });
}

const findStatement = prepared(
  "forms_referred",
  `select id, form_type from forms where id = any((select $1::integer[])::integer[])
   and ($2 or created_by = $3::integer)`,
);
const showStatement = prepared(
  "forms_shown",
  `select id, json_build_object('id', id, 'name', name, 'alias', alias, 'isPublished', is_published) as json
   from forms where id = any((select $1::integer[])::integer[])`,
);

/** A form that the caller may see, out of what is kept of the content service's; one that is made for campaigns. */
export function formReference(database: Database): ReferenceKind {
  return {
    await: (ids, { deadlineMs }) => awaitRows(database, "forms", ids, deadlineMs),
    async find({ query }, ids, { actor }) {
      const seen = reach(actor, "form:forms", Verb.VIEW);
      if (seen === "none") return new Map();
      const rows = await query(findStatement, [ids, seen === "all", actor.id]);
      return new Map(rows.map((row) => [Number(row.id), row]));
    },
    refuse: ({ form_type }) =>
      form_type === "campaign" ? undefined : "A form of a campaign is of that type.",
    async show(ids, { deadlineMs }) {
      const rows = await database.query(showStatement, [ids], deadlineMs);
      return new Map(rows.map(({ id, json }) => [Number(id), Buffer.from(json ?? "null")]));
    },
  };
}
