import { type Database, prepared } from "@tidings/database/database";

/**
 * `$1` segments, `$2` the contact before the slice, `$3` its size. Each segment gives its next members by its index; of all of them those with the lowest ids
 * are the slice. A slice may hold fewer recipients than members: some have no address, or said no.
 */
const recipientsStatement = prepared(
  "recipients_list",
  `with member as (
     select contact_id, min(segment_id) as segment_id from (
       select m.* from unnest($1::integer[]) as s (id) cross join lateral (
         select segment_id, contact_id from segment_contacts
         where segment_id = s.id and contact_id > $2::integer and not manually_removed
         order by contact_id limit $3::integer) m) as members
     group by contact_id order by contact_id limit $3::integer
   )
   select m.contact_id, m.segment_id, c.email, c.preferred_locale, c.do_not_contact ? 'email' as has_refused
   from member m left join contacts c on c.id = m.contact_id order by m.contact_id`,
);

interface Slice {
  segmentIds: number[];
  after: number;
  size: number;
}

/** Members of segments who have an email address and did not refuse email, and the place behind the slice; 0 at the end. */
export async function listRecipients(
  database: Database,
  { segmentIds, after, size }: Slice,
  deadlineMs: number,
) {
  const rows = await database.query(recipientsStatement, [segmentIds, after, size], deadlineMs);
  return {
    recipients: rows.flatMap(({ contact_id, segment_id, email, preferred_locale, has_refused }) =>
      email && has_refused !== "t"
        ? [
            {
              contactId: Number(contact_id),
              segmentId: Number(segment_id),
              address: email,
              locale: preferred_locale ?? "",
            },
          ]
        : [],
    ),
    next: rows.length < size ? 0 : Number(rows.at(-1)?.contact_id),
  };
}
