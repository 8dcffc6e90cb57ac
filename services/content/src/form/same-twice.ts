import { createHash } from "node:crypto";
import { prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import type { JsonObject } from "@tidings/resource/json-member";

/** The time in which the same values of the same device are one submission. */
const SAME_SECONDS = 10;

/** SQL of a migration: submissions without a key, by the digest of device, form and values. */
export const PRINT_TABLES = [
  `create table form_submission_prints (
    print bytea primary key, submission_id integer not null, date_added timestamptz not null)`,
  "create index form_submission_prints_age on form_submission_prints (date_added)",
];

/** A digest of what one device sent with one form. */
export function printOf(formId: number, deviceId: string, values: JsonObject): string {
  const sorted = Object.entries(values).sort(([one], [other]) => (one < other ? -1 : 1));
  return createHash("sha256")
    .update(JSON.stringify([formId, deviceId, sorted]))
    .digest("hex");
}

const claimStatement = prepared(
  "form_submission_prints_claim",
  `insert into form_submission_prints as p (print, submission_id, date_added)
   values (decode($1, 'hex'), nextval('form_submissions_ids'), clock_timestamp())
   on conflict (print) do update set submission_id = excluded.submission_id, date_added = excluded.date_added
     where p.date_added < excluded.date_added - interval '${SAME_SECONDS} seconds'
   returning submission_id`,
);
const sameStatement = prepared(
  "form_submission_prints_same",
  "select submission_id from form_submission_prints where print = decode($1, 'hex')",
);

/** A new id for a submission, or that of the same one a moment ago. Those who send it at once wait for the first. */
export async function claimPrint(
  transaction: Transaction,
  print: string,
): Promise<{ submissionId: number; isNew: boolean }> {
  const [claimed] = await transaction.query(claimStatement, [print]);
  const row = claimed ?? (await transaction.query(sameStatement, [print]))[0];
  return { submissionId: Number(row?.submission_id), isNew: claimed !== undefined };
}
