import { type DefinitionReader, type Definitions, definitionReader } from "@tidings/contacts/definitions";
import type { RecordSnapshot } from "@tidings/contacts/field-text";
import type { Database } from "@tidings/database/database";
import { CompanyMethodService } from "@tidings/proto/tidings/contact/v1/company";
import { ContactMethodService } from "@tidings/proto/tidings/contact/v1/contact";
import type { CompanySnapshot, ContactSnapshot } from "@tidings/proto/tidings/contact/v1/snapshot";
import { Code, Fault } from "@tidings/rpc/fault";
import type { Upstreams } from "@tidings/service/upstreams";
import { type ReadSnapshots, readByIds, readContacts } from "./current-records.ts";
import type { Lead, Source } from "./occurrence.ts";
import { companyJson, contactJson, flatContactJson, leadJson } from "./record-json.ts";
import { outgoingCall } from "./service-actor.ts";

/** A contact or company for receivers, and whose it is. */
export interface Rendered {
  json: string;
  /** 0 where it is nobody's. */
  ownerId: number;
}

/** Contacts and companies as receivers read them, in the order of their sources. Of one that is gone only the id is known. */
export interface Records {
  contacts(sources: Timed<ContactSnapshot>[]): Promise<Rendered[]>;
  companies(sources: Timed<CompanySnapshot>[]): Promise<Rendered[]>;
  /** Contacts as hits, submissions and mails show them; undefined for an erased contact. */
  leads(sources: TimedLead[]): Promise<(Rendered | undefined)[]>;
}

/** A source, and when the event was made that names it (RFC 3339). */
export type Timed<S> = Source<S> & { time: string };
export type TimedLead = Omit<Lead, "of"> & { time: string };

/** Reads snapshots of records as they are now, by ids. */
export interface RecordOwner {
  contacts: ReadSnapshots<ContactSnapshot>;
  companies: ReadSnapshots<CompanySnapshot>;
}

/** The lead of a submission whose sender is unknown: only owners who may view all contacts receive it. */
const NOBODY: Rendered = { json: "null", ownerId: 0 };
const LEADS = { flat: flatContactJson, whole: contactJson, lead: leadJson };
/** A field that is not known so long after an event is gone: its definition reaches this service sooner. */
const UNKNOWN_FIELD_MS = 30_000;

/** The contact service: asked for contacts that an event names by their ids alone. */
export function contactService(upstreams: Upstreams): RecordOwner {
  const contacts = upstreams.client("contact", ContactMethodService);
  const companies = upstreams.client("contact", CompanyMethodService);
  return {
    contacts: async (ids) => (await contacts.batchGetContactSnapshots({ ids }, outgoingCall())).snapshots,
    companies: async (ids) => (await companies.batchGetCompanySnapshots({ ids }, outgoingCall())).snapshots,
  };
}

/** Writes records with the definitions of fields that this service replicates. Throws UNAVAILABLE while it does not know them. */
export function recordWriter(database: Database, owner: RecordOwner): Records {
  const definitions = definitionReader(database);
  const writer =
    <S extends RecordSnapshot & { id: number }>({ read, json, ownerId }: Writing<S>) =>
    async (sources: Timed<S>[]): Promise<Rendered[]> => {
      const found = await snapshotsOf(sources, read);
      const known = await definitionsFor(found, definitions);
      return found.map(({ id, snapshot }) =>
        snapshot
          ? { json: json(snapshot, known), ownerId: ownerId(snapshot) ?? 0 }
          : { json: JSON.stringify({ id }), ownerId: 0 },
      );
    };
  return {
    contacts: writer({ read: owner.contacts, json: contactJson, ownerId: (contact) => contact.ownerId }),
    companies: writer({ read: owner.companies, json: companyJson, ownerId: (company) => company.createdBy }),
    async leads(sources) {
      const named = sources.map(({ contactId, as, time }) => ({ id: contactId, as, time }));
      const contacts = await readContacts(
        database,
        owner.contacts,
        named.filter(({ id }) => id !== 0),
      );
      const found = named.map((source) => ({ ...source, snapshot: contacts.get(source.id) }));
      const known = await definitionsFor(found, definitions);
      return found.map(({ id, as, snapshot }) => {
        if (id === 0) return NOBODY;
        const json = LEADS[as ?? "lead"];
        return snapshot && { json: json(snapshot, known), ownerId: snapshot.ownerId ?? 0 };
      });
    },
  };
}

interface Writing<S> {
  read: ReadSnapshots<S>;
  json(record: S, known: Definitions): string;
  ownerId(record: S): number | undefined;
}

interface Found<S> {
  id: number;
  time: string;
  /** Absent of a record that is gone. */
  snapshot: S | undefined;
}

async function snapshotsOf<S extends { id: number }>(
  sources: Timed<S>[],
  read: ReadSnapshots<S>,
): Promise<Found<S>[]> {
  const named = sources.flatMap((source) => ("id" in source ? [source.id] : []));
  const current = await readByIds(read, named);
  return sources.map((source) =>
    "id" in source
      ? { id: source.id, time: source.time, snapshot: current.get(source.id) }
      : { id: source.snapshot.id, time: source.time, snapshot: source.snapshot },
  );
}

/** A record may have a value of a field whose definition is still on its way: its event is retried. */
async function definitionsFor(
  told: Found<RecordSnapshot>[],
  definitions: DefinitionReader,
): Promise<Definitions> {
  const current = await definitions.current();
  if (current.isComplete && told.every((found) => isKnown(found, current))) return current;
  const latest = await definitions.latest();
  if (!latest.isComplete) throw unavailable("The definitions of fields are not known yet.");
  const isToCome = (found: Found<RecordSnapshot>) =>
    !isKnown(found, latest) && Date.now() - Date.parse(found.time) < UNKNOWN_FIELD_MS;
  const waiting = told.find(isToCome);
  if (waiting) throw unavailable(`A field of ${waiting.id} is not known yet.`);
  return latest;
}

function isKnown({ snapshot }: Found<RecordSnapshot>, { aliases }: Definitions): boolean {
  return Object.keys(snapshot?.addedFields ?? {}).every((alias) => aliases.has(alias));
}

function unavailable(message: string): Fault {
  return new Fault({ code: Code.UNAVAILABLE, reason: "FIELD_UNKNOWN", message });
}
