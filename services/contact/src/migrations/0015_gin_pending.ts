import { type Kysely, sql } from "kysely";

const INDEXES = [
  "contacts_search_text",
  "contacts_tag_ids",
  "contacts_custom_terms",
  "companies_custom_terms",
];

/**
 * Postgres gathers what is new in a GIN index and sorts it in when 4 MB have come together, which holds up the last writer
 * for a second at a million contacts. Sorted in more often it takes as long in all, and nobody waits for long.
 */
export async function limitGinPending(db: Kysely<unknown>): Promise<void> {
  for (const index of INDEXES)
    await sql`alter index ${sql.ref(index)} set (gin_pending_list_limit = 128)`.execute(db);
}
