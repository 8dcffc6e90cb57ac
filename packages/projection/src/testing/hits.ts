import type { Database } from "@tidings/database/database";
import { factEvents } from "@tidings/messaging/fact-events";
import { type FactSource, factSource } from "@tidings/messaging/facts";
import { PageHitsSchema } from "@tidings/proto/tidings/content/v1/events";
import { contactsByFate } from "../contact-fates.ts";
import { facts } from "../facts.ts";

/** A replica of hits in the table test_hits. */
export const replica = facts(PageHitsSchema, contactsByFate, {
  subjects: ["tidings.content.page.hit"],
  table: "test_hits",
  columns: { id: "uuid", version: "integer", date_hit: "timestamptz", url: "text" },
  rows: ({ hits }) =>
    hits.map((hit) => ({
      id: hit.id,
      version: hit.version,
      contact_id: hit.contactId,
      date_hit: "2026-01-01T00:00:00Z",
      url: hit.url,
    })),
  isListed: true,
});

/** Lists the hits of the owner's table test_hits. */
export function sourceOfHits(owner: Database): FactSource {
  return factSource(owner, {
    type: PageHitsSchema.typeName,
    table: "test_hits",
    key: "id",
    columns: ["version", "contact_id", "url"],
    eventsOf: (rows) => {
      const all = rows.map(({ id, version, contact_id, url }) => ({
        id: id ?? "",
        version: Number(version),
        contactId: Number(contact_id),
        url: url ?? "",
      }));
      const events = factEvents("tidings.content.page.hit", PageHitsSchema, all, (hits) => ({ hits }));
      return events.map(({ payload }) => payload);
    },
  });
}
