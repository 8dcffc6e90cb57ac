import type { MessageInitShape } from "@bufbuild/protobuf";
import { Verb } from "@tidings/proto/tidings/api/v1/options";
import { ContactCommandService, type IdentifyContactSchema } from "@tidings/proto/tidings/contact/v1/command";
import { CompanyMethodService } from "@tidings/proto/tidings/contact/v1/company";
import { type Contact, ContactMethodService } from "@tidings/proto/tidings/contact/v1/contact";
import type { TriedContactSchema } from "@tidings/proto/tidings/content/v1/submission";
import { type JsonObject, jsonBytes, parseJson } from "@tidings/resource/json-member";
import { serviceActor } from "@tidings/rpc/actor";
import type { Call } from "@tidings/rpc/call";
import { shareForm, textOf } from "@tidings/rpc/formed-json";
import { reach } from "@tidings/rpc/permission";
import { slices } from "@tidings/runtime/slices";
import type { Upstreams } from "@tidings/service/upstreams";

/** Contacts and companies of submissions, as the contact service has them. */
export interface Submitters {
  /** Contacts as the caller may see them, flat, as JSON by id: of one that is gone or hidden the id alone. */
  shown(ids: number[], call: Call): Promise<Map<number, Uint8Array>>;
  /** The values of a contact's fields by alias; none of one that is gone. */
  valuesOf(id: number, call: Call): Promise<JsonObject>;
  /** Does the caller see this contact? */
  mayView(id: number, call: Call): Promise<boolean>;
  /** The contact that a visitor would be; undefined for callers who may not view contacts. */
  wouldBe(
    said: { contactId: number; command: MessageInitShape<typeof IdentifyContactSchema> },
    call: Call,
  ): Promise<MessageInitShape<typeof TriedContactSchema> | undefined>;
  /** The names of those of these companies that are there, by id. */
  companyNames(ids: number[], call: Call): Promise<Map<string, string>>;
  /** Ten names of companies that begin with this text, of at least three characters. */
  companiesBeginning(beginning: string, call: Call): Promise<string[]>;
}

const CONTACTS_MAX = 1_000;
const actor = serviceActor("Submissions");

/** Asks the contact service for them: one call for a page. */
export function submittersOf(upstreams: Upstreams): Submitters {
  const contacts = upstreams.client("contact", ContactMethodService);
  const companies = upstreams.client("contact", CompanyMethodService);
  const commands = upstreams.client("contact", ContactCommandService);
  const asOurselves = ({ deadlineMs, requestId }: Call) => ({ actor, deadlineMs, requestId });
  const read = async (ids: number[], call: Call): Promise<Contact[]> => {
    const { contacts: found } = await contacts.batchGetContacts({ ids }, asOurselves(call));
    shareForm(found.map(({ fields }) => fields));
    return found;
  };
  return {
    async shown(ids, call) {
      const submitters = new Map(ids.map((id) => [id, jsonBytes({ id })]));
      const seen = reach(call.actor, "lead:leads", Verb.VIEW);
      if (seen === "none") return submitters;
      for (const asked of slices(ids, CONTACTS_MAX)) {
        for (const contact of await read(asked, call))
          if (seen === "all" || isOwn(contact, call)) submitters.set(contact.id, jsonBytes(flat(contact)));
      }
      return submitters;
    },
    async valuesOf(id, call) {
      const [contact] = await read([id], call);
      return contact ? flat(contact) : {};
    },
    async mayView(id, call) {
      const seen = reach(call.actor, "lead:leads", Verb.VIEW);
      if (seen === "none") return false;
      const [contact] = await read([id], call);
      return contact !== undefined && (seen === "all" || isOwn(contact, call));
    },
    async wouldBe(said, call) {
      const seen = reach(call.actor, "lead:leads", Verb.VIEW);
      if (seen === "none") return undefined;
      const ownerId = seen === "own" ? { ownerId: call.actor.id ?? 0 } : {};
      const { contactId, isNew, changes } = await commands.tryIdentification(
        { ...said, ...ownerId },
        asOurselves(call),
      );
      return { isNew, changes, ...(!isNew && { id: contactId }) };
    },
    async companiesBeginning(beginning, call) {
      return (await companies.listCompanyNames({ beginning }, asOurselves(call))).names;
    },
    async companyNames(ids, call) {
      if (ids.length === 0) return new Map();
      const { snapshots } = await companies.batchGetCompanySnapshots({ ids }, asOurselves(call));
      return new Map(
        snapshots.flatMap(({ id, companyname }) => (companyname ? [[String(id), companyname]] : [])),
      );
    },
  };
}

function isOwn({ owner }: Contact, { actor: { id } }: Call): boolean {
  return id !== null && owner !== undefined && parseJson(owner).id === id;
}

/** A contact in one object: what it is, and the values of all of its fields. */
function flat({ id, points, color, fields }: Contact): JsonObject {
  const { all } = fields ? JSON.parse(textOf(fields)) : {};
  return { id, points, color: color ?? null, ...all };
}
