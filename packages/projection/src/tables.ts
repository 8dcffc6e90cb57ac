/** Tables of every schema with projections: the latest version of each replicated entity, and the progress of each build. */
export const PROJECTION_TABLES = [
  `create table if not exists projected_versions (
    kind text not null, id integer not null, version integer not null, primary key (kind, id))`,
  `create table projection_builds (
    name text primary key, after_id integer not null default 0, done_at timestamptz)`,
];

/** A table of segments as several services keep them. */
export const SEGMENTS_TABLE = `create table segments (
  id integer primary key, version integer not null, name text not null, alias text not null, description text,
  is_published boolean not null, is_global boolean not null, created_by integer, created_by_user text,
  modified_by_user text)`;

/** A table of categories as several services keep them. */
export const CATEGORIES_TABLE = `create table categories (
  id integer primary key, version integer not null, title text not null, alias text not null, description text,
  color text, bundle text not null)`;
