import { queryAsSuperuser, type TestDatabase } from "@tidings/testkit/postgres";

/** Looks into a test's database, past every service. */
export async function query<Row = Record<string, unknown>>(
  database: Pick<TestDatabase, "adminUrl">,
  sql: string,
): Promise<Row[]> {
  return (await queryAsSuperuser(database, sql)) as Row[];
}
