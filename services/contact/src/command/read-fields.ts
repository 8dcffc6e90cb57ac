import { compileSql } from "@tidings/database/compile-sql";
import type { Database } from "@tidings/database/database";
import { sql } from "kysely";
import type { FieldCatalogue } from "../field/catalogue.ts";
import { fieldExpression } from "../field/expression.ts";

/** Columns of a contact that are no fields, by the names that callers have for them. */
const COLUMNS = new Map([
  ["id", sql`c.id`],
  ["owner_id", sql`c.owner_id`],
  ["stage_id", sql`c.stage_id`],
  ["date_added", sql`c.date_added`],
  ["date_identified", sql`c.date_identified`],
  ["tag_ids", sql`array_to_json(c.tag_ids)`],
  ["do_not_contact", sql`c.do_not_contact`],
  // No alias of a field has a dot.
  [
    "consent.latest",
    sql`(select k.is_given::integer from contact_consents k where k.contact_id = c.id order by k.date_added desc, k.id desc limit 1)`,
  ],
  [
    "segment_ids",
    sql`(select json_agg(m.segment_id) from segment_contacts m where m.contact_id = c.id and not m.manually_removed)`,
  ],
]);

/**
 * Reads named fields of contacts by one statement, in Postgres' text form. Merged contacts are read as those that they became a part
 * of; deleted ones are left out.
 */
export async function readContactFields(
  database: Database,
  { contact }: FieldCatalogue,
  { ids, aliases }: { ids: number[]; aliases: string[] },
  deadlineMs: number,
): Promise<{ id: number; contactId: number; values: string[] }[]> {
  if (ids.length === 0) return [];
  const values = aliases.map((alias, index) => {
    const field = contact.byAlias.get(alias);
    const value = field ? fieldExpression(field).sql : (COLUMNS.get(alias) ?? sql`null`);
    return sql`${value} as ${sql.ref(`value_${index}`)}`;
  });
  const { text, values: parameters } = compileSql(sql`select asked.id as asked_id, c.id as contact_id
      ${values.length > 0 ? sql`, ${sql.join(values)}` : sql``}
    from unnest(${[...new Set(ids)]}::integer[]) with ordinality as asked (id, position)
    left join contact_redirects r on r.merged_id = asked.id
    join contacts c on c.id = coalesce(r.contact_id, asked.id)
    order by asked.position`);
  const rows = await database.query({ text }, parameters, deadlineMs);
  return rows.map((row) => ({
    id: Number(row.asked_id),
    contactId: Number(row.contact_id),
    values: aliases.map((_alias, index) => row[`value_${index}`] ?? ""),
  }));
}
