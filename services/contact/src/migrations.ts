import { commandKeys } from "@tidings/commands/keys";
import type { Migrations } from "@tidings/database/migrate";
import { statements } from "@tidings/database/statements";
import { JOB_BACKLOG, JOB_RECORDS, JOB_STARTS } from "@tidings/jobs/tables";
import { PROJECTIONS_BESIDE } from "@tidings/projection/beside";
import { CONSENTS_TABLE } from "./belonging/consent.ts";
import { NUMBER_INDEXES } from "./command/find-by-number.ts";
import { COMPANY_NAMES } from "./company/list-names.ts";
import { ANONYMOUS_CONTACTS } from "./contact/anonymous.ts";
import { IDENTIFICATIONS_TABLE } from "./contact/identifications.ts";
import { REFUSED_ADDRESSES } from "./contact/refused-address.ts";
import { createContacts } from "./migrations/0001_contacts.ts";
import { createFields } from "./migrations/0002_fields.ts";
import { createCustomFields } from "./migrations/0003_custom_fields.ts";
import { createNeighbours } from "./migrations/0005_neighbours.ts";
import { createCompanies } from "./migrations/0006_companies.ts";
import { createUtmTags } from "./migrations/0007_utm_tags.ts";
import { createMerges } from "./migrations/0010_merges.ts";
import { createContactIndexes } from "./migrations/0011_contact_indexes.ts";
import { createNotesAndDevices } from "./migrations/0012_notes_devices.ts";
import { createSegments } from "./migrations/0013_segments.ts";
import { createProjections } from "./migrations/0014_projections.ts";
import { limitGinPending } from "./migrations/0015_gin_pending.ts";
import { keepUtmQueryOrder } from "./migrations/0016_utm_query_order.ts";
import { followSegmentFailures } from "./migrations/0017_segment_failures.ts";
import { foldNames } from "./migrations/0018_folded_names.ts";
import { rebuildProjections } from "./migrations/0019_projections.ts";
import { moveToJobs } from "./migrations/0020_jobs.ts";
import { searchContacts, searchNewContacts } from "./migrations/0021_contact_search.ts";
import { keepTotals } from "./migrations/0022_totals.ts";
import { encodeProtoFields } from "./migrations/0023_proto_field.ts";
import { keepPoints } from "./migrations/0030_points.ts";
import { keepTotalsByOwner } from "./migrations/0054_totals_by_column.ts";
import { orderModificationsBeside } from "./migrations/0055_contact_modified.ts";
import { EMAILS_TABLE } from "./projection/entities.ts";

export const migrations: Migrations = {
  "0001_contacts": { up: createContacts },
  "0002_fields": { up: createFields },
  "0003_custom_fields": { up: createCustomFields },
  "0005_neighbours": { up: createNeighbours },
  "0006_companies": { up: createCompanies },
  "0007_utm_tags": { up: createUtmTags },
  "0010_merges": { up: createMerges },
  "0011_contact_indexes": { up: createContactIndexes },
  "0012_notes_devices": { up: createNotesAndDevices },
  "0013_segments": { up: createSegments },
  "0014_projections": { up: createProjections },
  "0015_gin_pending": { up: limitGinPending },
  "0016_utm_query_order": { up: keepUtmQueryOrder },
  "0017_segment_failures": { up: followSegmentFailures },
  "0018_folded_names": { up: foldNames },
  "0019_projections": rebuildProjections,
  "0020_jobs": moveToJobs,
  "0021_contact_search": searchContacts,
  "0022_totals": keepTotals,
  "0023_proto_field": encodeProtoFields,
  "0030_points": keepPoints,
  "0031_job_backlog": statements(...JOB_BACKLOG),
  "0032_new_contact_search": searchNewContacts,
  "0033_sent_filters": statements("alter table segments add column sent_filters jsonb"),
  "0034_job_starts": statements(...JOB_STARTS),
  "0035_fact_versions": statements(
    "alter table email_sends add column version integer not null default 0",
    "alter table page_hits add column version integer not null default 0",
  ),
  "0036_command_keys": statements(...commandKeys({ withPartitions: true })),
  "0037_projections_beside": statements(...PROJECTIONS_BESIDE),
  "0038_job_records": statements(...JOB_RECORDS),
  "0040_who_they_are": statements(...IDENTIFICATIONS_TABLE, ...CONSENTS_TABLE),
  "0041_anonymous_contacts": statements(...ANONYMOUS_CONTACTS),
  "0052_company_names": statements(...COMPANY_NAMES),
  "0054_totals_by_column": keepTotalsByOwner,
  "0055_contact_modified": orderModificationsBeside,
  "0056_numbers": statements(...NUMBER_INDEXES),
  "0091_refused_addresses": statements(...REFUSED_ADDRESSES),
  "0092_emails": statements(EMAILS_TABLE),
  // Their replicas are complete where they were followed from the first event on: an installation that has projections.
  "0093_listed_facts": statements(
    `insert into projection_builds (name, done_at)
     select name, now() from unnest(array['email_sends', 'page_hits', 'asset_downloads', 'sms_sends', 'notification_sends']) as name
     where exists (select from projection_builds) on conflict do nothing`,
  ),
  // Emails are asked for anew: their categories were not kept before.
  "0094_refused_categories": statements(
    "alter table emails add column category_id integer",
    "update projected_versions set version = 0 where kind = 'emails' and id in (select id from emails)",
    "delete from projection_builds where name = 'emails'",
    `create table refused_categories (
      contact_id integer not null references contacts on delete cascade, category_id integer not null, primary key (contact_id, category_id))`,
  ),
  // Choices of categories are asked for anew: refusals were not kept before there was a table for them.
  "0095_listed_choices": statements(
    "update projected_versions set version = 0 where kind = 'category_subscription'",
  ),
  // Frequency rules count tweets.
  "0090_tweet_sends": statements(
    `create table tweet_sends (
      id uuid primary key, contact_id integer not null references contacts on delete cascade, tweet_id integer not null, date_added timestamptz not null)`,
    "create index tweet_sends_contact_id on tweet_sends (contact_id, date_added)",
  ),
};
