import { create } from "@bufbuild/protobuf";
import { type Segment, SegmentSchema } from "@tidings/proto/tidings/contact/v1/segment";
import { type Database, prepared } from "@tidings/store/database";
import { readReference } from "../record/body.ts";

/** Stands for a category that is not an id. */
export const NO_CATEGORY = -1;

const categoriesStatement = prepared(
  "segment_categories",
  `select id, json_build_object('createdByUser', null, 'modifiedByUser', null, 'id', id, 'title', title, 'alias', alias,
     'description', description, 'color', color, 'bundle', bundle) as json
   from categories where id = any($1::integer[])`,
);

/** Shows segments their categories: one query for all of them. */
export async function showCategories(
  database: Database,
  items: Segment[],
  deadlineMs: number,
): Promise<Segment[]> {
  const ids = items.flatMap(({ categoryId }) => categoryId ?? []);
  if (ids.length === 0) return items;
  const rows = await database.query(categoriesStatement, [ids], deadlineMs);
  const byId = new Map(rows.map(({ id, json }) => [Number(id), Buffer.from(json ?? "null")]));
  for (const item of items) item.category = byId.get(item.categoryId ?? 0) ?? new Uint8Array();
  return items;
}

/** A segment as it was sent, with the id of its category: that is what is kept. */
export function withCategoryId(message: Segment): Segment {
  if (message.category.length === 0) return message;
  const id = readReference("category", message.category, []);
  const segment = create(SegmentSchema, message);
  if (id !== null) segment.categoryId = id ?? NO_CATEGORY;
  return segment;
}
