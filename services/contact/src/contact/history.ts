import { prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";

/** Tables whose rows belong to a contact by `contact_id` and move with a merge. */
const HISTORY = [
  "points_log",
  "stages_log",
  "utm_tags",
  "notes",
  "devices",
  "email_sends",
  "page_hits",
  "sms_sends",
  "notification_sends",
  "tweet_sends",
  "asset_downloads",
  "contact_redirects",
  "contact_consents",
];

/** Tables with one row for each value of a contact: the survivor's rows stay as they are. */
const SETS: Record<string, string> = {
  push_ids: "push_id",
  contact_identifications: "date_added, proof, device_id, merged_from",
  contact_categories: "category_id",
  refused_categories: "category_id",
  campaign_contacts: "campaign_id, version, date_added, manually_added, manually_removed",
};

const statements = [
  ...HISTORY.map((table) =>
    prepared(`${table}_move`, `update ${table} set contact_id = $1 where contact_id = $2`),
  ),
  ...Object.entries(SETS).map(([table, columns]) =>
    prepared(
      `${table}_move`,
      `insert into ${table} (contact_id, ${columns}) select $1, ${columns} from ${table} where contact_id = $2
       on conflict do nothing`,
    ),
  ),
  // Scores are added up, as points are; in groups that only one of them has a score in, it changes hands.
  prepared(
    "contact_group_scores_add",
    `update contact_group_scores s set version = greatest(s.version, m.version) + 1,
       score = greatest(-2147483648, least(2147483647, s.score::bigint + m.score))
     from contact_group_scores m where s.contact_id = $1 and m.contact_id = $2 and m.group_id = s.group_id`,
  ),
  prepared(
    "contact_group_scores_move",
    `update contact_group_scores m set contact_id = $1 where m.contact_id = $2
     and not exists (select from contact_group_scores s where s.contact_id = $1 and s.group_id = m.group_id)`,
  ),
];

/** Gives all that a contact did to the one it becomes part of. */
export function moveHistory(transaction: Transaction, id: number, mergedId: number): void {
  for (const statement of statements) transaction.execute(statement, [id, mergedId]);
}
