import type { TestDatabase } from "@tidings/testkit/postgres";
import { Client } from "pg";

/** Looks into a test's database, past every service. */
export async function query<Row = Record<string, unknown>>(
  { adminUrl }: Pick<TestDatabase, "adminUrl">,
  sql: string,
): Promise<Row[]> {
  const client = new Client({ connectionString: adminUrl });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}
