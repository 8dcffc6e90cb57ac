import { backgroundDeadline, type Database } from "@tidings/database/database";
import { readFates } from "@tidings/projection/contact-fates";
import type { ContactSnapshot } from "@tidings/proto/tidings/contact/v1/snapshot";
import { Code, Fault } from "@tidings/rpc/fault";
import { slices } from "@tidings/runtime/slices";

/** Reads snapshots of records as they are now; of those that are there. */
export type ReadSnapshots<S> = (ids: number[]) => Promise<S[]>;

/** A contact by its id, and when the event was made that names it (RFC 3339). */
export interface NamedContact {
  id: number;
  time: string;
}

const BATCH_MAX = 1_000;
/** The creation of a contact reaches the contact service sooner after the first hit. */
const TO_COME_MS = 30_000;
/** Contacts that an error names. */
const NAMED_MAX = 10;

/** Records as they are now, by their ids, in as many calls as it takes. */
export async function readByIds<S extends { id: number }>(
  read: ReadSnapshots<S>,
  ids: Iterable<number>,
): Promise<Map<number, S>> {
  const found = new Map<number, S>();
  for (const slice of slices([...new Set(ids)], BATCH_MAX))
    for (const snapshot of await read(slice)) found.set(snapshot.id, snapshot);
  return found;
}

/**
 * Contacts as they are now, by the ids that events name them by: a merged contact is its survivor, an erased one is absent.
 * Throws while one of them is not there yet: the event that creates a visitor's contact is consumed by another service.
 */
export async function readContacts(
  database: Database,
  read: ReadSnapshots<ContactSnapshot>,
  named: NamedContact[],
): Promise<Map<number, ContactSnapshot>> {
  const found = await readByIds(
    read,
    named.map(({ id }) => id),
  );
  const missing = named.filter(({ id }) => !found.has(id));
  if (missing.length === 0) return found;
  const missingIds = [...new Set(missing.map(({ id }) => id))];
  const fates = await readFates(database, missingIds, backgroundDeadline());
  const survivors = await readByIds(
    read,
    [...fates.values()].filter((id) => id !== null),
  );
  for (const [id, survivorId] of fates) {
    const survivor = survivors.get(survivorId ?? 0);
    if (survivor) found.set(id, survivor);
  }
  refuseToCome(missing.filter(({ id }) => !found.has(id) && fates.get(id) !== null));
  return found;
}

/**
 * For half a minute after the event everything waits, so that deliveries keep their order. An older event fails alone: it is
 * retried, and dead-lettered with this reason if the contact never comes.
 */
function refuseToCome(toCome: NamedContact[]): void {
  if (toCome.length === 0) return;
  const isRecent = toCome.some(({ time }) => Date.now() - Date.parse(time) < TO_COME_MS);
  const ids = [...new Set(toCome.map(({ id }) => id))];
  throw new Fault({
    code: isRecent ? Code.UNAVAILABLE : Code.NOT_FOUND,
    reason: "CONTACT_UNKNOWN",
    message: `${ids.length} contacts of events are not known yet: ${ids.slice(0, NAMED_MAX).join(", ")}`,
  });
}
