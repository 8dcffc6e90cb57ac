import { type Kysely, sql } from "kysely";

/** The parameters of a query keep the order they were sent in, which jsonb forgets. */
export async function keepUtmQueryOrder(db: Kysely<unknown>): Promise<void> {
  await sql`alter table utm_tags alter column query drop default`.execute(db);
  await sql`alter table utm_tags alter column query type json using query::json`.execute(db);
  await sql`alter table utm_tags alter column query set default '{}'`.execute(db);
}
