import { prepared } from "@tidings/database/database";
import { type Category, CategorySchema } from "@tidings/proto/tidings/content/v1/category";
import type { Projection } from "./projection.ts";
import { replicate } from "./replicate.ts";

/** The table `categories`, where a service refers to categories; the rows of these tables lose a category that is gone. */
export function categories(tables: string[]): Projection {
  const forget = tables.map((table) =>
    prepared(
      `${table}_uncategorize`,
      `update ${table} set category_id = null where category_id = any($1::integer[])`,
    ),
  );
  return replicate(CategorySchema, {
    table: "categories",
    columns: { title: "text", alias: "text", description: "text", color: "text", bundle: "text" },
    row: ({ title, alias, description, color, bundle }: Category) => ({
      title,
      alias,
      description,
      color,
      bundle,
    }),
    changed(transaction, { gone }) {
      if (gone.length > 0) for (const statement of forget) transaction.execute(statement, [gone]);
    },
  });
}
