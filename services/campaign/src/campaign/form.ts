import type { Database } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import type { Projection } from "@tidings/projection/projection";
import { replicate } from "@tidings/projection/replicate";
import { type Form, FormSchema } from "@tidings/proto/tidings/content/v1/form";
import { awaitRows } from "@tidings/resource/await-rows";
import type { ReferenceKind } from "@tidings/resource/reference";
import { rowReference } from "@tidings/resource/row-reference";

/** The table `forms`, as far as campaigns refer to them. `forget` takes those that are gone out of what refers to them. */
export function forms(forget: (transaction: Transaction, ids: number[]) => void): Projection {
  return replicate(FormSchema, {
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

/** A form that the caller may see, out of what is kept of the content service's; one that is made for campaigns. */
export function formReference(database: Database): ReferenceKind {
  return {
    await: (ids, { deadlineMs }) => awaitRows(database, "forms", ids, deadlineMs),
    ...rowReference({
      table: "forms",
      permission: "form:forms",
      own: "created_by = $3::integer",
      columns: ["form_type"],
      shown: "json_build_object('id', id, 'name', name, 'alias', alias, 'isPublished', is_published)",
    }),
    refuse: ({ form_type }) =>
      form_type === "campaign" ? undefined : "A form of a campaign is of that type.",
  };
}
