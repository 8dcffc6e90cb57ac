import { isoSeconds } from "@tidings/runtime/iso-seconds";
import type { Occurrence } from "./occurrence.ts";

/** The JSON of what an occurrence is about. */
export interface Parts {
  contact?: string | undefined;
  company?: string | undefined;
  lead?: string | undefined;
}

/** The JSON of a company that the owner may not view: its id and name alone. */
export function nameOfCompany(json: string): string {
  const { id, fields } = JSON.parse(json);
  return JSON.stringify({
    id,
    fields: { core: { companyname: { value: fields?.core?.companyname?.value ?? null } } },
  });
}

/**
 * The text a receiver gets: an object with the trigger's name and a list of one item. Contacts and companies are put in
 * as the JSON text they come as; only one that is deleted is taken apart, to clear its id.
 */
export function bodyOf(trigger: string, occurrence: Occurrence, { contact, company, lead }: Parts): string {
  const { deletedId, members, event } = occurrence;
  const shown = (json: string) => (deletedId === undefined ? json : withoutId(json));
  const member = (name: string, json: string) =>
    lead !== undefined && name === occurrence.lead?.of ? withLead(json, lead) : json;
  const parts = [
    ...(deletedId === undefined ? [] : [`"id":${deletedId}`]),
    ...(contact === undefined ? [] : [`"contact":${shown(contact)}`]),
    ...(company === undefined ? [] : [`"company":${shown(company)}`]),
    ...(lead !== undefined && occurrence.lead?.as ? [`"${occurrence.lead.of}":${lead}`] : []),
    ...Object.entries(members).map(([name, value]) => `"${name}":${member(name, JSON.stringify(value))}`),
    `"timestamp":${JSON.stringify(isoSeconds(new Date(event.time)))}`,
  ];
  return `{${JSON.stringify(trigger)}:[{${parts.join(",")}}]}`;
}

/** The hit or submission is never empty. */
function withLead(json: string, lead: string): string {
  return `${json.slice(0, -1)},"lead":${lead}}`;
}

function withoutId(json: string): string {
  return JSON.stringify({ ...JSON.parse(json), id: null });
}
