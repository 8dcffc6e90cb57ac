import type { Migrations } from "@tidings/database/migrate";
import { statements } from "@tidings/database/statements";

export const migrations: Migrations = {
  "0001_audit": statements(
    `create table audit_entries (
      id integer generated always as identity primary key, version integer not null default 1,
      date_added timestamptz not null, user_id integer, user_name text, bundle text not null, object text not null,
      object_id integer not null, action text not null, details jsonb not null)`,
    "create index audit_entries_object on audit_entries (object, object_id, id)",
    "create index audit_entries_user_id on audit_entries (user_id, id)",
    // The last published state of each entity, from which the next entry derives what changed.
    `create table audited (
      kind text not null, id integer not null, version integer not null, fields jsonb not null, primary key (kind, id))`,
  ),
};
