import type { Bus } from "@tidings/bus/connect";
import { type Consumption, consume } from "@tidings/bus/consume";
import type { Event } from "@tidings/bus/event";
import { contactSegments } from "@tidings/bus/streams";
import { isOutage } from "@tidings/rpc/outage";
import { backgroundDeadline, prepared, type Transaction } from "@tidings/store/database";
import { keepDeadLetter } from "@tidings/store/dead-letter";
import type { FieldCatalogue } from "../field/catalogue.ts";
import type { BuildServices } from "./build.ts";
import { type Changes, type CompanyChange, changesOf } from "./changes.ts";
import { compileDefinitions } from "./definitions.ts";
import { type ContactChange, followChanges } from "./follow.ts";

/** Members of a company that are looked at one by one; beyond it the segments are built anew. */
const MEMBERS_MAX = 1_000;

/** Keeps segments up to date with every change of a contact or a company, in batches as they come. */
export function startReacting(services: BuildServices, bus: Bus): Consumption {
  return consume(bus, {
    durable: contactSegments,
    handle: (events) => react(services, events),
    isOutage,
    deadLetter: (letter) => keepDeadLetter(services.database, contactSegments.name, letter),
  });
}

/** To come twice does no harm: what counts is how contacts are now. */
export async function react(services: BuildServices, events: Event[]): Promise<void> {
  const changes = changesOf(events);
  if (changes.contacts.length === 0 && changes.companies.length === 0) return;
  const catalogue = await services.catalogues.latest();
  await services.database.transaction(backgroundDeadline(), async (transaction) => {
    const contacts = [
      ...changes.contacts,
      ...(await followCompanies(services, transaction, catalogue, changes)),
    ];
    await followChanges(services, transaction, catalogue, contacts);
  });
}

const membersStatement = prepared(
  "segment_company_contacts",
  "select contact_id from company_contacts where company_id = $1 limit $2",
);
const requestStatement = prepared(
  "segment_builds_request",
  "select request_segment_build(id) from unnest($1::integer[]) as id order by id",
);

/** The contacts of changed companies. Where they are many, or not known any more, segments are to be built instead. */
async function followCompanies(
  services: BuildServices,
  transaction: Transaction,
  catalogue: FieldCatalogue,
  { companies }: Changes,
): Promise<ContactChange[]> {
  const changes: ContactChange[] = [];
  for (const company of companies) {
    const { companyId, changed } = company;
    const readers = await readersOf(services, transaction, catalogue, company);
    if (readers.length === 0) continue;
    const members =
      changed === "gone" ? [] : await transaction.query(membersStatement, [companyId, MEMBERS_MAX + 1]);
    if (changed === "gone" || members.length > MEMBERS_MAX) transaction.execute(requestStatement, [readers]);
    else changes.push(...members.map(({ contact_id }) => ({ contactId: Number(contact_id), changed })));
  }
  return changes;
}

async function readersOf(
  { readDefinitions }: BuildServices,
  transaction: Transaction,
  catalogue: FieldCatalogue,
  { changed }: CompanyChange,
): Promise<number[]> {
  const isRead = (name: string) =>
    changed === "gone" ? ["companies", "company"].includes(name) : changed.includes(name);
  return compileDefinitions(await readDefinitions(transaction.query), catalogue)
    .filter(({ isPublished, compiled }) => isPublished && [...(compiled?.reads ?? [])].some(isRead))
    .map(({ id }) => id);
}
