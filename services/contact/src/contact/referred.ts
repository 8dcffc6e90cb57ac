import { prepared, type Row, type Statement } from "@tidings/store/database";

const contactsStatement = prepared(
  "contacts_referred",
  `select asked.id as asked_id, c.id, c.owner_id from unnest((select $1::integer[])) as asked (id)
   left join contact_redirects r on r.merged_id = asked.id
   join contacts c on c.id = coalesce(r.contact_id, asked.id)`,
);

type Ask = (statement: Statement, values: unknown[]) => Promise<Row[]>;

/** The contacts by the ids they were asked for: merged ones are what they became part of. */
export async function readContacts(ask: Ask, ids: number[]): Promise<Map<number, Row>> {
  const wanted = [...new Set(ids)].filter((id) => id > 0);
  if (wanted.length === 0) return new Map();
  const rows = await ask(contactsStatement, [wanted]);
  return new Map(rows.map((row) => [Number(row.asked_id), row]));
}
