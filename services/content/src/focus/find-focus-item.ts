import { create } from "@bufbuild/protobuf";
import { backgroundDeadline, type Database, prepared } from "@tidings/database/database";
import { type FocusItem, FocusItemSchema } from "@tidings/proto/tidings/content/v1/focus_item";
import { columnsOf, fillFromRow } from "@tidings/resource/columns";
import { isOpen } from "../family/is-open.ts";

const columns = columnsOf(FocusItemSchema);

const openStatement = prepared(
  "focus_items_open",
  `select ${columns.map(({ name }) => `"${name}"`).join(", ")} from focus_items where id = $1 and ${isOpen("focus_items")}`,
);
const existsStatement = prepared("focus_items_exists", "select id from focus_items where id = $1");

/** The item, as it is published now; undefined when there is none. */
export async function openFocusItem(database: Database, id: number): Promise<FocusItem | undefined> {
  const [row] = await database.query(openStatement, [id], backgroundDeadline());
  return row && fillFromRow(create(FocusItemSchema), columns, row);
}

/** Is there such an item, published or not? */
export async function hasFocusItem(database: Database, id: number): Promise<boolean> {
  return (await database.query(existsStatement, [id], backgroundDeadline())).length > 0;
}
