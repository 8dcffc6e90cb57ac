import { type Kysely, sql } from "kysely";

/** Orders that lists of a million contacts are asked for; what is not here is sorted. */
const ORDERED_BY =
  `date_added date_modified date_identified points firstname lastname email company position city state
  zipcode country`.split(/\s+/);

/** Columns that a plain search term looks into. */
const SEARCHED =
  `firstname lastname email company city state zipcode country facebook foursquare instagram linkedin
  skype twitter`.split(/\s+/);

export async function createContactIndexes(db: Kysely<unknown>): Promise<void> {
  await sql`drop index contacts_date_added`.execute(db);
  for (const column of ORDERED_BY) {
    // Read forwards for `desc`, backwards for `asc nulls first`: empty values come first in the one, last in the other.
    await sql`
      create index ${sql.ref(`contacts_by_${column}`)}
      on contacts (${sql.ref(column)} desc nulls last, id desc)`.execute(db);
  }

  await sql`create extension if not exists pg_trgm schema public`.execute(db);
  const parameters = sql.raw(SEARCHED.map((name) => `${name} text`).join(", "));
  const text = sql.raw(SEARCHED.map((name) => `coalesce(${name}, '')`).join(" || E'\\x1f' || "));
  await sql`
    create function contact_search_text(${parameters}) returns text language sql immutable parallel safe
    return ${text}`.execute(db);
  await sql`
    create index contacts_search_text on contacts
    using gin (contact_search_text(${sql.raw(SEARCHED.join(", "))}) public.gin_trgm_ops)`.execute(db);
}
