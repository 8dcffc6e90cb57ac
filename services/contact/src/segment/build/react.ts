import type { Bus } from "@tidings/bus/connect";
import type { Consumption } from "@tidings/bus/consume";
import type { Event } from "@tidings/bus/event";
import { backgroundDeadline, prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import { consumeEvents } from "@tidings/messaging/consume-events";
import { contactSegments } from "../../durables.ts";
import type { FieldCatalogue } from "../../field/catalogue.ts";
import { type CompiledDefinition, compileDefinitions } from "../definition/definitions.ts";
import { CHANGE_SUBJECTS, type Changes, type CompanyChange, changesOf } from "../follow/changes.ts";
import { type ContactChange, followChanges } from "../follow/follow.ts";
import type { BuildServices } from "./build.ts";
import { requestBuilds } from "./build-request.ts";
import { withoutCulprits } from "./culprits.ts";

/** Members of a company that are looked at one by one; beyond it the segments are built anew. */
const MEMBERS_MAX = 1_000;

/** Keeps segments up to date with every change of a contact or a company, in batches as they come. */
export function startReacting(services: BuildServices, bus: Bus): Consumption {
  const { database } = services;
  return consumeEvents({
    database,
    bus,
    durable: { ...contactSegments, subjects: CHANGE_SUBJECTS },
    handle: (events) => react(services, events),
  });
}

/** To come twice does no harm: what counts is how contacts are now. */
export async function react(services: BuildServices, events: Event[]): Promise<void> {
  const changes = changesOf(events);
  if (changes.contacts.length === 0 && changes.companies.length === 0) return;
  let asked = changes.contacts;
  const follow = () =>
    followAll(services, changes, (contacts) => {
      asked = contacts;
    });
  await withoutCulprits(services, () => asked.map(({ contactId }) => contactId), follow);
}

async function followAll(
  services: BuildServices,
  changes: Changes,
  onAsk: (contacts: ContactChange[]) => void,
): Promise<void> {
  const catalogue = await services.catalogues.latest();
  await services.database.transaction(backgroundDeadline(), async (transaction) => {
    const contacts = [
      ...changes.contacts,
      ...(await followCompanies(services, transaction, catalogue, changes)),
    ];
    onAsk(contacts);
    await followChanges(services, transaction, catalogue, contacts);
  });
}

/** One member more of each company than are handled, so that an excess is noticed. */
const membersStatement = prepared(
  "segment_company_contacts",
  `select company.id as company_id, member.contact_id from unnest($1::integer[]) as company (id)
   cross join lateral (
     select contact_id from company_contacts where company_id = company.id limit $2::bigint) member`,
);

/** The contacts of changed companies. Where they are many, or not known any more, segments are to be built instead. */
async function followCompanies(
  { readDefinitions }: BuildServices,
  transaction: Transaction,
  catalogue: FieldCatalogue,
  { companies }: Changes,
): Promise<ContactChange[]> {
  if (companies.length === 0) return [];
  const definitions = compileDefinitions(await readDefinitions(transaction.query), catalogue);
  const read = companies
    .map((company) => ({ ...company, readers: readersOf(definitions, company) }))
    .filter(({ readers }) => readers.length > 0);
  const ids = [...new Set(read.map(({ companyId }) => companyId))];
  const rows = ids.length > 0 ? await transaction.query(membersStatement, [ids, MEMBERS_MAX + 1]) : [];
  const members = Map.groupBy(rows, ({ company_id }) => Number(company_id));
  const isBuilt = ({ companyId, changed }: CompanyChange) =>
    changed === "gone" || (members.get(companyId) ?? []).length > MEMBERS_MAX;
  const toBuild = new Set(read.filter(isBuilt).flatMap(({ readers }) => readers));
  await requestBuilds(transaction, [...toBuild]);
  return read.flatMap((company) => {
    const { companyId, changed } = company;
    if (changed === "gone" || isBuilt(company)) return [];
    return (members.get(companyId) ?? []).map(({ contact_id }) => ({
      contactId: Number(contact_id),
      changed,
    }));
  });
}

/** The segments that read what changed of a company. */
function readersOf(definitions: CompiledDefinition[], { changed }: CompanyChange): number[] {
  const isRead = (name: string) =>
    changed === "gone" ? ["companies", "company"].includes(name) : changed.includes(name);
  return definitions
    .filter(({ isPublished, compiled }) => isPublished && [...(compiled?.reads ?? [])].some(isRead))
    .map(({ id }) => id);
}
