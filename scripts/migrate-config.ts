import { processConfig, readConfig } from "@tidings/runtime/config";
import { z } from "zod";
import { processes } from "./processes.ts";

/** Printable ASCII: everybody reads it the same way. */
const password = z.string().regex(/^[\x20-\x7e]{8,256}$/, "must be 8 to 256 characters of ASCII");

/** `CONTACT_PASSWORD`: what the role of a schema gets as its password. */
export function passwordVariableOf(schema: string): string {
  return `${schema.toUpperCase()}_PASSWORD`;
}

const passwords = Object.fromEntries(processes.map(({ schema }) => [passwordVariableOf(schema), password]));

/** Every variable that migrating reads. */
export const migrateVariables = {
  LOG_LEVEL: processConfig.LOG_LEVEL,
  /** The URL for a role that may create roles, and schemas in this database. */
  DATABASE_URL: z.url(),
  /** Seconds to wait for the database while it does not answer. */
  DATABASE_WAIT: z.coerce.number().min(0).max(3_600).default(60),
  /** Roles are called `<ROLE_PREFIX>_<schema>`. They belong to the whole server: two installations there need two. */
  ROLE_PREFIX: z
    .string()
    .regex(/^[a-z][a-z0-9_]{0,39}$/)
    .default("tidings"),
};

export function migrateConfig(env: NodeJS.ProcessEnv) {
  const config = readConfig({ ...passwords, ...migrateVariables }, env);
  const values: Record<string, unknown> = config; // the names of the passwords are those of a table
  return { ...config, passwordOf: (schema: string) => String(values[passwordVariableOf(schema)]) };
}
