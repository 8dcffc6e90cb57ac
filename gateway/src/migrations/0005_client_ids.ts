import { type Kysely, sql } from "kysely";

/** A form that is sent twice makes one credential: the id is chosen when the form is opened. */
export async function makeClientIdsUnique(db: Kysely<unknown>): Promise<void> {
  await sql`create unique index oauth_clients_random_id on oauth_clients (random_id)`.execute(db);
}
