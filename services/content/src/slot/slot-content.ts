import { backgroundDeadline, type Database, prepared } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import { type Filter, readFilters } from "@tidings/filters/filter";
import { matches } from "@tidings/filters/matches";
import { coalesce } from "@tidings/runtime/coalesce/coalesce";
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
  `select d.slot, c.id, c.content from dynamic_content_lead_data d join dynamic_contents c on c.id = d.dynamic_content_id
   where d.contact_id = $1 and d.slot = any ($2::text[]) and ${isOpen("c", "$3::timestamptz")}`,
);
const candidatesStatement = prepared(
  "slot_candidates",
  `select slot_name, id, content, filters from (
     select slot_name, id, content, filters, row_number() over (partition by slot_name order by id) as place
     from dynamic_contents
     where slot_name = any ($1::text[]) and not is_campaign_based and ${isOpen("dynamic_contents", "$2::timestamptz")}
   ) as c where place <= ${CANDIDATES_MAX} order by slot_name, id`,
);

export interface SlotParts {
  database: Database;
  contacts: KnownContacts;
}

/** The content of a slot, if there is one. */
export type FindContent = (slot: string) => Promise<SlotContent | undefined>;

/**
 * Finds the contents of slots for a visitor (engines.md 7.6): what a campaign put there for the contact, or the first whose filters the contact matches.
 * There is none for a visitor who is not proven to be the contact: nothing that is shown says what is known of somebody else. Slots that are asked
 * for at the same time are looked up together. `at` is the time at which they are shown, in milliseconds since 1970.
 */
export function slotContents(
  parts: SlotParts,
  visitor: Pick<Visitor, "contactId" | "mayRead"> | undefined,
  at = parts.database.now(),
): FindContent {
  if (!visitor?.mayRead) return async () => undefined;
  const { contactId } = visitor;
  const find = coalesce((slots: string[]) => contentsFor(parts, { contactId, slots, at }));
  return async (slot) =>
    slot === "" || slot.length > SLOT_LENGTH_MAX ? undefined : (await find("slots", slot)).get(slot);
}

interface Asked {
  contactId: number;
  slots: string[];
  at: number;
}

async function contentsFor(
  { database, contacts }: SlotParts,
  { contactId, slots, at }: Asked,
): Promise<ReadonlyMap<string, SlotContent>> {
  const deadlineMs = backgroundDeadline();
  const time = new Date(at).toISOString();
  const stored = await database.query(storedStatement, [contactId, slots, time], deadlineMs);
  const contents = new Map(stored.map((row) => [row.slot ?? "", contentOf(row)]));
  const others = slots.filter((slot) => !contents.has(slot));
  if (others.length === 0) return contents;
  const candidates = (await database.query(candidatesStatement, [others, time], deadlineMs)).map((row) => ({
    row,
    filters: filtersOf(row),
  }));
  if (candidates.length === 0) return contents;
  const names = new Set(candidates.flatMap(({ filters }) => filters.map(({ field }) => field)));
  const contact = await contacts.matched(contactId, [...names]);
  for (const { row, filters } of candidates) {
    const slot = row.slot_name ?? "";
    if (contact && !contents.has(slot) && matches(filters, contact, at)) contents.set(slot, contentOf(row));
  }
  return contents;
}

function contentOf({ id, content }: Row): SlotContent {
  return { id: Number(id), content: content ?? "" };
}

function filtersOf({ filters }: Row): Filter[] {
  return readFilters(Buffer.from(filters ?? "[]"));
}
