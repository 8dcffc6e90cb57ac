import type { Call } from "@tidings/rpc/call";
import { contactWriter } from "../contact/contact-json.ts";
import { currentRows } from "../contact/current-rows.ts";
import type { RecordContext } from "../record/save.ts";
import type { Belonging } from "./contact-reference.ts";

/** Shows each row its contact as `{id, points, color, fields}`: one query for all of them. */
export async function showContacts<T extends Belonging>(
  { database, catalogues }: RecordContext,
  items: T[],
  call: Call,
): Promise<T[]> {
  const ids = [...new Set(items.map(({ contactId }) => contactId))].filter((id) => id > 0);
  if (ids.length === 0) return items;
  const rows = await currentRows(database, ids, call.deadlineMs);
  const [first] = rows.values();
  const { message } = contactWriter(await catalogues.atLeast(Number(first?.field_revision ?? 0)));
  const summaries = new Map([...rows].map(([id, row]) => [id, summary(message(row))] as const));
  for (const item of items) item.lead = summaries.get(item.contactId) ?? new Uint8Array();
  return items;
}

function summary({ id, points, color, fields }: ReturnType<ReturnType<typeof contactWriter>["message"]>) {
  const members = `"id":${id},"points":${points},"color":${JSON.stringify(color ?? null)}`;
  return Buffer.from(`{${members},"fields":${Buffer.from(fields).toString()}}`);
}
