import { randomBytes } from "node:crypto";
import { queryAsSuperuser } from "@tidings/testkit/postgres";

/** The URL of a new database that nobody has migrated, as a superuser. It goes with the server of the tests. */
export async function emptyDatabase(): Promise<string> {
  const adminUrl = process.env.TEST_POSTGRES_URL ?? "";
  const name = `empty_${randomBytes(6).toString("hex")}`;
  await queryAsSuperuser({ adminUrl }, `create database ${name}`);
  return Object.assign(new URL(adminUrl), { pathname: `/${name}` }).href;
}

export function databaseOf(url: string): string {
  return new URL(url).pathname.slice(1);
}
