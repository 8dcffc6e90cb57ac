import type { Row } from "@tidings/database/statement";

/** The outcome of the send to a contact, as the message SendOutcome carries it. */
export interface Outcome {
  contactId: number;
  state: string;
  reason: string;
  hash?: string;
  isNew?: boolean;
  code?: number;
  channel?: string;
  tried?: { channel: string; reason: string }[];
}

/**
 * SQL: the sends of an occasion (`$2`) of an item (`$1`), one for each contact of `$3` that has one: its own, or that of a contact that was merged into it.
 */
export function sendOfOccasion(sends: string, item: string, more = "null as channel"): string {
  const columns = `hash, state, reason, code, ${more}`;
  const of = `from ${sends} where ${item} = $1::integer and occasion = $2`;
  return `select asked.contact_id, send.* from unnest($3::integer[]) as asked (contact_id) cross join lateral (
     select * from (select ${columns} ${of} and chosen_contact_id = asked.contact_id
       union all select ${columns} ${of} and contact_id = asked.contact_id) as found limit 1) as send`;
}

/** A row of `sendOfOccasion` as it is answered. */
export function outcomeOfRow(row: Row): Outcome {
  return {
    contactId: Number(row.contact_id),
    state: row.state ?? "",
    reason: row.reason ?? "",
    hash: row.hash ?? "",
    ...(row.code && { code: Number(row.code) }),
  };
}
