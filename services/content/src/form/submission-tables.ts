import type { Total } from "@tidings/resource/totals";

/** Submissions of each form are counted as they come. */
export const SUBMISSION_TOTAL: Total = { table: "form_submissions", by: "form_id" };

/** How many months have a partition before they begin. */
const MONTHS_AHEAD = 3;

/**
 * Submissions by month. `results` has what was sent by the ids of the form's fields, whose aliases may change. A process may
 * not make tables: a function of the schema's owner makes those that are missing, and nothing else. A month of which something
 * came before its partition was there stays in the default one.
 */
export const SUBMISSION_TABLES = [
  "create sequence form_submissions_ids as integer",
  `create table form_submissions (
    id integer not null default nextval('form_submissions_ids'), key uuid not null, form_id integer not null,
    contact_id integer, ip text not null, tracking_id text, date_submitted timestamptz not null, referer text,
    page_id integer, results jsonb not null, primary key (id, date_submitted)) partition by range (date_submitted)`,
  "create table form_submissions_rest partition of form_submissions default",
  "create index form_submissions_of_form on form_submissions (form_id, date_submitted nulls first, id)",
  `create index form_submissions_of_contact on form_submissions (contact_id, form_id, date_submitted nulls first, id)
   where contact_id is not null`,
  // No unique index spans partitions, so that what was sent twice is known by its key here.
  `create table form_submission_keys (
    key uuid primary key, submission_id integer not null, date_added timestamptz not null default now())`,
  "create index form_submission_keys_age on form_submission_keys (date_added)",
  `create function make_form_submission_partitions() returns void language plpgsql security definer
   set search_path from current set timezone = 'UTC' as $$
   declare
     month date; name text;
   begin
     for month in select generate_series(date_trunc('month', now()),
         date_trunc('month', now()) + interval '${MONTHS_AHEAD} months', interval '1 month')::date loop
       name := 'form_submissions_' || to_char(month, 'YYYY_MM');
       if to_regclass(name) is null and not exists (
         select from form_submissions_rest
         where date_submitted >= month and date_submitted < month + interval '1 month') then
         -- Made apart and attached: readers and writers of submissions are not blocked meanwhile.
         execute format('create table %I (like form_submissions including defaults)', name);
         execute format('alter table form_submissions attach partition %I for values from (%L) to (%L)',
           name, month, month + interval '1 month');
       end if;
     end loop;
   end $$`,
  "select make_form_submission_partitions()",
  "insert into jobs (kind, key) values ('form_submission_upkeep', 'ahead')",
];
