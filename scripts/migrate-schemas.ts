import { migrate, roleUrl } from "@tidings/database/migrate";
import { processes } from "./processes.ts";

export interface SchemasOptions {
  /** A role that may create schemas and roles. */
  adminUrl: string;
  passwordOf(schema: string): string;
  /** Roles are called `<rolePrefix>_<schema>`; the database's name when absent. */
  rolePrefix?: string | undefined;
}

export interface MigratedSchema {
  schema: string;
  /** The URL of the database for the role of this schema. */
  url: string;
  /** Names of the migrations that were missing. */
  applied: string[];
}

/** Brings the schema of every process up to date, one after the other. */
export async function migrateSchemas(options: SchemasOptions): Promise<MigratedSchema[]> {
  const { adminUrl, passwordOf, rolePrefix } = options;
  const migrated: MigratedSchema[] = [];
  for (const { schema, migrations } of processes) {
    const rolePassword = passwordOf(schema);
    const { role, applied } = await migrate({ adminUrl, schema, rolePassword, rolePrefix, migrations });
    migrated.push({ schema, url: roleUrl(adminUrl, role, rolePassword), applied });
  }
  return migrated;
}
