import { randomBytes } from "node:crypto";
import { Client } from "pg";

export interface TestDatabase {
  /** As a superuser. */
  adminUrl: string;
  /** As the role of the process that owns the schema. */
  url(schema: string): string;
  drop(): Promise<void>;
}

const TEMPLATE = "tidings_template";

/** A database of its own, with every process' schema migrated. Needs TEST_POSTGRES_URL, which `npm test` sets. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const serverUrl = process.env.TEST_POSTGRES_URL;
  if (!serverUrl) throw new Error("TEST_POSTGRES_URL is not set: run the tests with npm test");
  const name = `test_${randomBytes(6).toString("hex")}`;
  await execute(serverUrl, `create database ${name} template ${TEMPLATE}`);
  return {
    adminUrl: databaseUrl(serverUrl, name),
    url: (schema) =>
      databaseUrl(serverUrl, name, { role: `${TEMPLATE}_${schema}`, password: `test-${schema}` }),
    drop: () => execute(serverUrl, `drop database if exists ${name} with (force)`),
  };
}

/** Ends every connection to a test database, as a restart of the server would. */
export async function terminateBackends({ adminUrl }: Pick<TestDatabase, "adminUrl">): Promise<void> {
  await execute(
    adminUrl,
    `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and pid <> pg_backend_pid()`,
  );
}

/** The rows of the last statement, as a superuser of whatever schema. */
export async function queryAsSuperuser(
  { adminUrl }: Pick<TestDatabase, "adminUrl">,
  text: string,
): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: adminUrl });
  await client.connect();
  try {
    const results = [await client.query(text)].flat();
    return results.at(-1)?.rows ?? [];
  } finally {
    await client.end();
  }
}

/** Counts the deadlocks of a database. Those of a connection are known once it is closed. */
export async function countDeadlocks(database: Pick<TestDatabase, "adminUrl">): Promise<number> {
  const [row] = await queryAsSuperuser(
    database,
    "select deadlocks from pg_stat_database where datname = current_database()",
  );
  return Number(row?.deadlocks);
}

function databaseUrl(serverUrl: string, name: string, login?: { role: string; password: string }): string {
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  if (login) {
    url.username = login.role;
    url.password = login.password;
  }
  return url.href;
}

async function execute(url: string, sql: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
