import { Verb } from "@tidings/proto/tidings/api/v1/options";
import { CompanyMethodService } from "@tidings/proto/tidings/contact/v1/company";
import { ContactMethodService } from "@tidings/proto/tidings/contact/v1/contact";
import { isObject, type JsonObject, jsonBytes } from "@tidings/resource/json-member";
import type { Actor } from "@tidings/rpc/actor";
import type { Call } from "@tidings/rpc/call";
import { reach } from "@tidings/rpc/permission";
import { slices } from "@tidings/runtime/slices";
import type { Upstreams } from "@tidings/service/upstreams";

/** Contacts and companies of submissions, as the contact service has them. */
export interface Submitters {
  /** Contacts as the caller may see them, flat, as JSON by id: of one that is gone or hidden the id alone. */
  shown(ids: number[], call: Call): Promise<Map<number, Uint8Array>>;
  /** The values of a contact's fields by alias; none of one that is gone. */
  valuesOf(id: number, call: Call): Promise<JsonObject>;
  /** The names of those of these companies that are there, by id. */
  companyNames(ids: number[], call: Call): Promise<Map<string, string>>;
}

const CONTACTS_MAX = 1_000;
const actor: Actor = { kind: "service", id: null, name: "Submissions", admin: false, permissions: {} };

/** Asks the contact service for them: one call for a page. */
export function submittersOf(upstreams: Upstreams): Submitters {
  const contacts = upstreams.client("contact", ContactMethodService);
  const companies = upstreams.client("contact", CompanyMethodService);
  const asOurselves = ({ deadlineMs, requestId }: Call) => ({ actor, deadlineMs, requestId });
  return {
    async shown(ids, call) {
      const submitters = new Map(ids.map((id) => [id, jsonBytes({ id })]));
      const seen = reach(call.actor, "lead:leads", Verb.VIEW);
      if (seen === "none") return submitters;
      for (const asked of slices(ids, CONTACTS_MAX)) {
        const rendered = await contacts.renderContacts({ ids: asked }, asOurselves(call));
        asked.forEach((id, index) => {
          const isVisible =
            seen === "all" || (call.actor.id !== null && rendered.ownerIds[index] === call.actor.id);
          const contact = rendered.contacts[index];
          if (isVisible && contact) submitters.set(id, jsonBytes(flat(contact)));
        });
      }
      return submitters;
    },
    async valuesOf(id, call) {
      const { contacts: rendered } = await contacts.renderContacts({ ids: [id] }, asOurselves(call));
      return rendered[0] ? flat(rendered[0]) : {};
    },
    async companyNames(ids, call) {
      if (ids.length === 0) return new Map();
      const { companies: rendered } = await companies.renderCompanies({ ids }, asOurselves(call));
      const names = rendered.map((company) => flat(company).companyname);
      return new Map(ids.flatMap((id, index) => (names[index] ? [[String(id), String(names[index])]] : [])));
    },
  };
}

/** A contact or company in one object: what it is, and the values of all of its fields, which come in groups. */
function flat(json: Uint8Array): JsonObject {
  const { id, points, color, fields } = JSON.parse(Buffer.from(json).toString());
  const groups = isObject(fields) ? Object.values(fields).filter(isObject) : [];
  const values = groups.flatMap((group) =>
    Object.entries(group).map(([alias, field]) => [alias, isObject(field) ? field.value : null]),
  );
  return { id, points, color, ...Object.fromEntries(values) };
}
