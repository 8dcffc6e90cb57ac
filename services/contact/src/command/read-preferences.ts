import { type Database, prepared } from "@tidings/database/database";

const OFFERED_MAX = 100;
const statement = prepared(
  "preferences_read",
  `select c.id, c.frequency_rules, c.do_not_contact ? 'email' as has_refused_email, c.timezone,
     coalesce(c.mobile, '') <> '' or coalesce(c.phone, '') <> '' as has_phone,
     (select coalesce(json_agg(json_build_object('id', s.id, 'name', s.public_name, 'isMember', exists (
          select from segment_contacts m where m.segment_id = s.id and m.contact_id = c.id and not m.manually_removed))
        order by s.public_name, s.id), '[]')
      from (select id, public_name from segments where is_published and is_global and is_preference_center
        order by public_name, id limit ${OFFERED_MAX}) s) as segments
   from contacts c where c.id = coalesce((select contact_id from contact_redirects where merged_id = $1::integer), $1::integer)`,
);

/** The choices of a contact, and the segments that it may enter and leave by itself. Undefined for one that is gone. */
export async function readPreferences(database: Database, contactId: number, deadlineMs: number) {
  const [row] = await database.query(statement, [contactId], deadlineMs);
  if (!row) return undefined;
  return {
    contactId: Number(row.id),
    frequencyRules: Buffer.from(row.frequency_rules ?? "{}"),
    hasRefusedEmail: row.has_refused_email === "t",
    hasPhone: row.has_phone === "t",
    timeZone: row.timezone ?? "",
    segments: JSON.parse(row.segments ?? "[]") as { id: number; name: string; isMember: boolean }[],
  };
}
