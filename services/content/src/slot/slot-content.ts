import { backgroundDeadline, type Database, prepared } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import { type Filter, readFilters } from "@tidings/filters/filter";
import { matches } from "@tidings/filters/matches";
import { isOpen } from "../family/is-open.ts";
import type { KnownContacts } from "../visit/known-contact.ts";
import type { Visitor } from "../visit/sighting.ts";

/** Dynamic content that is in a slot for somebody. */
export interface SlotContent {
  id: number;
  /** HTML, as its author wrote it. */
  content: string;
}

/** Contents of a slot that are looked at: the first that matches is shown. */
const CANDIDATES_MAX = 100;
const SLOT_LENGTH_MAX = 191;

const storedStatement = prepared(
  "slot_stored",
  `select c.id, c.content from dynamic_content_lead_data d join dynamic_contents c on c.id = d.dynamic_content_id
   where d.contact_id = $1 and d.slot = $2 and ${isOpen("c", "$3::timestamptz")}`,
);
const candidatesStatement = prepared(
  "slot_candidates",
  `select id, content, filters from dynamic_contents
   where slot_name = $1 and not is_campaign_based and ${isOpen("dynamic_contents", "$2::timestamptz")}
   order by id limit ${CANDIDATES_MAX}`,
);

/**
 * The content of a slot for a visitor (engines.md 7.6): what a campaign put there for the contact, or the first whose filters the contact matches.
 * Undefined where there is none, and for a visitor who is not proven to be the contact: nothing that is shown says what is known of somebody else.
 * `at` is the time at which it is shown, in milliseconds since 1970.
 */
export async function slotContent(
  { database, contacts }: { database: Database; contacts: KnownContacts },
  slot: string,
  visitor: Pick<Visitor, "contactId" | "isProven"> | undefined,
  at = database.now(),
): Promise<SlotContent | undefined> {
  if (!visitor?.isProven || slot === "" || slot.length > SLOT_LENGTH_MAX) return undefined;
  const deadlineMs = backgroundDeadline();
  const time = new Date(at).toISOString();
  const [stored] = await database.query(storedStatement, [visitor.contactId, slot, time], deadlineMs);
  if (stored) return contentOf(stored);
  const candidates = (await database.query(candidatesStatement, [slot, time], deadlineMs)).map((row) => ({
    row,
    filters: filtersOf(row),
  }));
  if (candidates.length === 0) return undefined;
  const names = new Set(candidates.flatMap(({ filters }) => filters.map(({ field }) => field)));
  const contact = await contacts.matched(visitor.contactId, [...names]);
  const found = contact && candidates.find(({ filters }) => matches(filters, contact, at));
  return found && contentOf(found.row);
}

function contentOf({ id, content }: Row): SlotContent {
  return { id: Number(id), content: content ?? "" };
}

function filtersOf({ filters }: Row): Filter[] {
  return readFilters(Buffer.from(filters ?? "[]"));
}
