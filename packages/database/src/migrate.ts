import { Kysely, PostgresDialect, sql } from "kysely";
import { type Migration, Migrator } from "kysely/migration";
import { Client, Pool } from "pg";
import { backgroundDeadline, type Database, prepared } from "./database.ts";
import { messagingMigrations } from "./messaging-migrations.ts";
import { scramVerifier } from "./scram-verifier.ts";

export type Migrations = Record<string, Migration>;

export interface MigrateOptions {
  /** A role that may create schemas and roles. */
  adminUrl: string;
  schema: string;
  /** Printable ASCII. */
  rolePassword: string;
  migrations: Migrations;
  /** The process' role is `<rolePrefix>_<schema>`; the database's name when absent. */
  rolePrefix?: string | undefined;
}

const LOCK = 7_402_001;

/**
 * Brings one schema up to date and gives its process a role that sees this schema and nothing else.
 * Safe to run by many at once: one works, the others wait for it and find nothing to do.
 */
export async function migrate(options: MigrateOptions): Promise<{ role: string; applied: string[] }> {
  const role = `${options.rolePrefix ?? databaseName(options.adminUrl)}_${options.schema}`;
  // One connection, so that the session's lock and search_path hold for every step.
  const pool = new Pool({ connectionString: options.adminUrl, max: 1 });
  const db = new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) });
  try {
    await sql`select pg_advisory_lock(${LOCK})`.execute(db);
    await createRole(db, role, options);
    await sql`set search_path to ${sql.id(options.schema)}`.execute(db);
    await sql`set timezone to 'UTC'`.execute(db);
    const migrator = new Migrator({
      db,
      migrationTableSchema: options.schema,
      provider: { getMigrations: async () => allMigrations(options.migrations) },
      // Migrations common to all schemas are numbered apart from those of each schema.
      allowUnorderedMigrations: true,
    });
    const { error, results = [] } = await migrator.migrateToLatest();
    if (error) throw error;
    return { role, applied: results.map(({ migrationName }) => migrationName) };
  } finally {
    await db.destroy();
  }
}

/** Has the schema every migration this process knows? A newer schema is fine: migrations expand before they contract. */
export async function isMigrated(database: Database, migrations: Migrations): Promise<boolean> {
  const rows = await database.query({ text: "select name from kysely_migration" }, [], backgroundDeadline());
  const applied = new Set(rows.map(({ name }) => name));
  return Object.keys(allMigrations(migrations)).every((name) => applied.has(name));
}

/** The number of migrations that a program knows: a later version of it knows more. */
export function versionOf(migrations: Migrations): number {
  return Object.keys(allMigrations(migrations)).length;
}

/** Is the schema of this version, and not of a later one? */
export async function isLatest(database: Database, migrations: Migrations): Promise<boolean> {
  const statement = prepared("migrations_count", "select count(*) from kysely_migration");
  const [row] = await database.query(statement, [], backgroundDeadline());
  return Number(row?.count) <= versionOf(migrations);
}

function allMigrations(migrations: Migrations): Migrations {
  return { ...messagingMigrations, ...migrations };
}

async function createRole(db: Kysely<unknown>, role: string, options: MigrateOptions): Promise<void> {
  const schema = sql.id(options.schema);
  const name = sql.id(role);
  const known = await sql`select 1 from pg_roles where rolname = ${role}`.execute(db);
  if (known.rows.length === 0) await sql`create role ${name}`.execute(db);
  await sql`alter role ${name} login password ${sql.lit(scramVerifier(options.rolePassword))}`.execute(db);
  await sql`alter role ${name} set search_path to ${schema}`.execute(db);
  // A server may keep a time zone of its own. In one with daylight saving a day has 23 or 25 hours twice a year, and times are written with another offset.
  await sql`alter role ${name} set timezone to 'UTC'`.execute(db);
  await sql`alter role ${name} set datestyle to 'ISO'`.execute(db);
  // The last line of defence behind the deadlines that calls carry.
  await sql`alter role ${name} set statement_timeout to '35s'`.execute(db);
  await sql`alter role ${name} set lock_timeout to '5s'`.execute(db);
  await sql`alter role ${name} set idle_in_transaction_session_timeout to '10s'`.execute(db);
  await sql`create schema if not exists ${schema}`.execute(db);
  await sql`grant usage on schema ${schema} to ${name}`.execute(db);
  await sql`alter default privileges in schema ${schema}
    grant select, insert, update, delete on tables to ${name}`.execute(db);
  await sql`alter default privileges in schema ${schema} grant usage, select on sequences to ${name}`.execute(
    db,
  );
  // Default privileges do not cover objects that were restored from a dump.
  await sql`grant select, insert, update, delete on all tables in schema ${schema} to ${name}`.execute(db);
  await sql`grant usage, select on all sequences in schema ${schema} to ${name}`.execute(db);
}

/** The connection URL of a process' own role. */
export function roleUrl(adminUrl: string, role: string, password: string): string {
  const url = new URL(adminUrl);
  url.username = role;
  url.password = password;
  return url.href;
}

function databaseName(url: string): string {
  return new Client({ connectionString: url }).database ?? "tidings";
}
