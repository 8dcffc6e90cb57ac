import type { Contact, Entity } from "./client.ts";

/** What the CRUD suite needs to know of a resource. */
export interface Resource {
  path: string;
  one: string;
  many: string;
  /** How `total` is written. */
  total: "string" | "number";
  /** As little as a body may have; every call makes another one. */
  minimal(): Record<string, unknown>;
  full(): Record<string, unknown>;
  /** A change of one member, which no body above has. */
  change: Record<string, unknown>;
  /** What of a full body is gone after a PUT of a minimal one, and what it is then. */
  cleared: Record<string, unknown>;
  /** Bodies that are refused, by the member that is to blame. */
  refused: Record<string, Record<string, unknown>>;
  /** Reads a member of the entity by the key that writes it. */
  read(entity: Entity, key: string): unknown;
}

let count = 0;
const unique = (): string => `${process.pid}-${++count}`;
const address = (): string => `person-${unique()}@example.com`;
const readMember = (entity: Entity, key: string): unknown => entity[key];

/** Every resource with the standard operations. */
export const resources: Resource[] = [
  {
    path: "contacts",
    one: "contact",
    many: "contacts",
    total: "string",
    minimal: () => ({ email: address() }),
    full: () => ({
      email: address(),
      firstname: "Ada",
      lastname: "Lovelace",
      city: "London",
      country: "France",
    }),
    change: { position: "Countess" },
    cleared: { firstname: null, lastname: null, city: null, country: null },
    refused: {
      email: { email: "not an address" },
      firstname: { firstname: { nested: true } },
      lastname: { lastname: "x".repeat(192) },
      country: { country: "Atlantis" },
      points: { points: "many" },
    },
    read: (entity, key) => (entity as Contact).fields.all[key],
  },
  {
    path: "companies",
    one: "company",
    many: "companies",
    total: "number",
    minimal: () => ({ companyname: `Company ${unique()}` }),
    full: () => ({
      companyname: `Company ${unique()}`,
      companyemail: address(),
      companycity: "Paris",
      companycountry: "France",
      companyindustry: "Education",
      companynumber_of_employees: 12,
    }),
    change: { companywebsite: "https://example.com" },
    cleared: {
      companyemail: null,
      companycity: null,
      companyindustry: null,
      companynumber_of_employees: null,
    },
    refused: {
      companyname: { companycity: "Nowhere" },
      companyemail: { companyname: "A", companyemail: "not an address" },
      companyindustry: { companyname: "A", companyindustry: "Alchemy" },
      companynumber_of_employees: { companyname: "A", companynumber_of_employees: "many" },
    },
    read: (entity, key) => (entity as Contact).fields.all[key],
  },
  ...["contact", "company"].map((object) => ({
    path: `fields/${object}`,
    one: "field",
    many: "fields",
    total: "number" as const,
    minimal: () => ({ label: `Field ${unique()}` }),
    full: () => ({
      label: `Field ${unique()}`,
      description: "Of some use",
      type: "text",
      group: "personal",
      order: 7,
      defaultValue: "unknown",
      isRequired: false,
      isPubliclyUpdatable: true,
    }),
    change: { order: 99 },
    cleared: { description: null, defaultValue: null, isPubliclyUpdatable: false, isPublished: false },
    refused: {
      label: { label: "" },
      type: { label: "A", type: "hologram" },
      group: { label: "A", group: "nowhere" },
      alias: { label: "A", alias: "date_added" },
      defaultValue: { label: "A", type: "number", defaultValue: "many" },
      properties: { label: "A", type: "select", properties: { list: [] } },
      charLengthLimit: { label: "A", charLengthLimit: 0 },
    },
    read: readMember,
  })),
  {
    path: "hooks",
    one: "hook",
    many: "hooks",
    total: "number",
    minimal: () => ({ name: `Hook ${unique()}`, webhookUrl: "https://example.com/hook" }),
    full: () => ({
      name: `Hook ${unique()}`,
      description: "Told of everything",
      webhookUrl: "https://example.com/hook?a=1",
      secret: "a secret of one's own",
      eventsOrderbyDir: "DESC",
      isPublished: true,
      triggers: ["svc.lead_post_save_new", "svc.lead_post_delete"],
    }),
    change: { description: "Changed" },
    cleared: { description: null, eventsOrderbyDir: null, isPublished: false, triggers: [] },
    refused: {
      name: { name: "", webhookUrl: "https://example.com/" },
      webhookUrl: { name: "No address", webhookUrl: "gopher://example.com" },
      eventsOrderbyDir: { name: "Order", webhookUrl: "https://example.com/", eventsOrderbyDir: "SIDEWAYS" },
      isPublished: { name: "Flag", webhookUrl: "https://example.com/", isPublished: "constructor" },
      triggers: { name: "Triggers", webhookUrl: "https://example.com/", triggers: [["nested"]] },
    },
    read: readMember,
  },
  {
    path: "tags",
    one: "tag",
    many: "tags",
    total: "number",
    minimal: () => ({ tag: `tag ${unique()}` }),
    full: () => ({ tag: `tag ${unique()}`, description: "A word" }),
    change: { description: "Another word" },
    cleared: { description: null },
    refused: { tag: { tag: "" }, description: { tag: "described", description: ["a", "list"] } },
    read: readMember,
  },
];
