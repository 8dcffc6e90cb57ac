import { type Database, prepared } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import { asciiAddress } from "@tidings/runtime/email-address";
import { refusedAddress } from "../contact/refused-address.ts";

/**
 * `$1` segments, `$2` the contact before the slice, `$3` its size, `$4` excluded segments, `$5` contacts that are passed over, `$6` the last contact, `$7` the channel. Each segment gives its next
 * members by its index; of all of them those with the lowest ids are the slice. An excluded segment is asked for each member, and not read whole for each slice. A slice may hold fewer recipients than members: some have no address, said no, or are excluded.
 */
const recipientsStatement = prepared(
  "recipients_list",
  `with member as (
     select contact_id, min(segment_id) as segment_id from (
       select m.* from unnest($1::integer[]) as s (id) cross join lateral (
         select segment_id, contact_id from segment_contacts
         where segment_id = s.id and contact_id > $2::integer and contact_id <= $6::integer and not manually_removed
           and contact_id not in (select unnest($5::integer[]))
         order by contact_id limit $3::integer) m) as members
     group by contact_id order by contact_id limit $3::integer
   )
   select m.contact_id, m.segment_id, c.preferred_locale, c.do_not_contact ? $7::text
       or case when $7::text = 'sms' then ${refusedAddress("sms")} else ${refusedAddress("email")} end is not null as has_refused,
     case when $7::text = 'sms' then coalesce(nullif(btrim(c.mobile), ''), nullif(btrim(c.phone), '')) else c.email end as address,
     (select true from segment_contacts x
       where x.segment_id = any ($4::integer[]) and x.contact_id = m.contact_id and not x.manually_removed limit 1) is not null as is_excluded
   from member m left join contacts c on c.id = m.contact_id order by m.contact_id`,
);

interface Slice {
  segmentIds: number[];
  excludedSegmentIds: number[];
  after: number;
  size: number;
  /** Contacts that are passed over. */
  chosenContactIds: number[];
  /** The slice ends at this contact; 0 where it may go on to the last one. */
  upTo: number;
  /** email or sms; email when empty. */
  channel: string;
}

const LAST_ID = 2 ** 31 - 1;

/** Members of segments who have an address of the channel and did not refuse it, how many are left out, and the place behind the slice; 0 at the end. */
export async function listRecipients(
  database: Database,
  { segmentIds, excludedSegmentIds, after, size, chosenContactIds, upTo, channel }: Slice,
  deadlineMs: number,
) {
  const values = [
    segmentIds,
    after,
    size,
    excludedSegmentIds,
    chosenContactIds,
    upTo || LAST_ID,
    channel || "email",
  ];
  const rows = await database.query(recipientsStatement, values, deadlineMs);
  const {
    recipients = [],
    withoutAddress = [],
    refused = [],
    excluded = [],
  } = Object.groupBy(rows, leftOutAs);
  return {
    recipients: recipients.map(({ contact_id, segment_id, address, preferred_locale }) => ({
      contactId: Number(contact_id),
      segmentId: Number(segment_id),
      address: asciiAddress(address ?? ""),
      locale: preferred_locale ?? "",
    })),
    ...{ withoutAddress: withoutAddress.length, refused: refused.length, excluded: excluded.length },
    next: rows.length < size ? upTo : Number(rows.at(-1)?.contact_id),
  };
}

function leftOutAs({ address, has_refused, is_excluded }: Row) {
  if (is_excluded === "t") return "excluded";
  if (!address) return "withoutAddress";
  return has_refused === "t" ? "refused" : "recipients";
}
