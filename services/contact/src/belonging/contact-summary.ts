import type { Call } from "@tidings/rpc/call";
import { prepared } from "@tidings/store/database";
import { contactWriter } from "../contact/contact-json.ts";
import { CONTACT_SELECT } from "../contact/row.ts";
import type { RecordContext } from "../record/save.ts";
import type { Belonging } from "./contact-reference.ts";

const contactsStatement = prepared(
  "contacts_summarised",
  `select ${CONTACT_SELECT} from contacts c where c.id = any (array(select unnest($1::integer[])))`,
);

/** Shows each row its contact as `{id, points, color, fields}`: one query for all of them. */
export async function showContacts<T extends Belonging>(
  { database, catalogues }: RecordContext,
  items: T[],
  call: Call,
): Promise<T[]> {
  const ids = [...new Set(items.map(({ contactId }) => contactId))].filter((id) => id > 0);
  if (ids.length === 0) return items;
  const rows = await database.query(contactsStatement, [ids], call.deadlineMs);
  const { message } = contactWriter(await catalogues.atLeast(Number(rows[0]?.field_revision ?? 0)));
  const summaries = new Map(rows.map((row) => [Number(row.id), summary(message(row))] as const));
  for (const item of items) item.lead = summaries.get(item.contactId) ?? new Uint8Array();
  return items;
}

function summary({ id, points, color, fields }: ReturnType<ReturnType<typeof contactWriter>["message"]>) {
  const members = `"id":${id},"points":${points},"color":${JSON.stringify(color ?? null)}`;
  return Buffer.from(`{${members},"fields":${Buffer.from(fields).toString()}}`);
}
