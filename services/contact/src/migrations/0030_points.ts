import { statements } from "@tidings/database/statements";

/** Points and stages as contacts show them: replicas of triggers, groups and categories of stages. */
export const keepPoints = statements(
  `create table point_triggers (
    id integer primary key, version integer not null, points integer not null, color text not null, group_id integer,
    is_published boolean not null, publish_up timestamptz, publish_down timestamptz)`,
  "create index point_triggers_group_id on point_triggers (group_id) where group_id is not null",
  // Colours are read with the fields, whose revision says that they changed.
  `create trigger bump_field_revision after insert or update or delete on point_triggers
   for each statement execute function bump_field_revision()`,
  `create table point_groups (
    id integer primary key, version integer not null, name text not null, description text)`,
  `create table contact_group_scores (
    contact_id integer not null references contacts on delete cascade,
    group_id integer not null references point_groups on delete cascade,
    score integer not null, version integer not null, primary key (contact_id, group_id))`,
  "create index contact_group_scores_group_id on contact_group_scores (group_id)",
  "alter table points_log add column group_id integer",
  `create table stages_log (
    id bigint generated always as identity primary key,
    contact_id integer not null references contacts on delete cascade, stage_id integer not null,
    event_name text not null, action_name text not null, date_added timestamptz not null)`,
  "create index stages_log_contact_id on stages_log (contact_id, id)",
  // Stages are asked for anew: their categories were not kept before.
  "alter table stages add column category_id integer",
  "update projected_versions set version = 0 where kind = 'stages' and id in (select id from stages)",
  "delete from projection_builds where name = 'stages'",
);
