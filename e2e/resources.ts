import { type Resource as Mounted, resources as mounted } from "@tidings/gateway/resources";
import { standardOf } from "@tidings/rpc/standard";
import type { Client, Contact, Entity } from "./client.ts";
import { declaredBodies } from "./declared-bodies.ts";

/** What the CRUD suite needs to know of a resource. */
export interface Resource extends Bodies, Pick<Mounted, "path" | "one" | "many" | "shape"> {
  /** How `total` is written. */
  total: "string" | "number";
}

/** Bodies to be sent, and what becomes of them. */
export interface Bodies {
  /** As little as a body may have; every call makes another one. */
  minimal(): Record<string, unknown>;
  full(): Record<string, unknown>;
  /** A change of one member, which no body above has. */
  change: Record<string, unknown>;
  /** What of a full body is gone after a PUT of a minimal one, and what it is then. */
  cleared: Record<string, unknown>;
  /** Members that no edit changes, or that are never shown again. */
  fixed?: string[];
  hidden?: string[];
  /** Bodies that are refused, by the member that is to blame. */
  refused: Record<string, Record<string, unknown>>;
  /** Reads a member of the entity by the key that writes it. */
  read(entity: Entity, key: string): unknown;
}

let count = 0;
const unique = (): string => `${process.pid}-${++count}`;
const address = (): string => `person-${unique()}@example.com`;
const PASSWORD = "Vermilion-Kettle-42";
const person = () => ({
  username: `user-${unique()}`,
  firstName: "Ada",
  lastName: "Lovelace",
  email: address(),
  role: 1,
  plainPassword: { password: PASSWORD, confirm: PASSWORD },
});
const readMember = (entity: Entity, key: string): unknown => entity[key];
const readOfContact = (entity: Entity, key: string): unknown =>
  key === "lead" ? (entity.lead as Entity).id : entity[key];

/** The first of a database: what belongs to a contact belongs to it. */
const CONTACT_ID = 1;

export async function addFirstContact(api: Client): Promise<void> {
  await api("POST", "contacts/new", { email: address() });
}

/** Filters are answered in two forms at once, of which a caller sends one. */
const readSegment = (entity: Entity, key: string): unknown => {
  const value = entity[key];
  if (key !== "filters" || !Array.isArray(value)) return value;
  return value.map(({ properties: _properties, display: _display, ...filter }) => filter);
};

/** The bodies of resources that have rules of their own. */
const byHand: (Bodies & { path: string })[] = [
  {
    path: "contacts",
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
    path: "segments",
    minimal: () => ({ name: `Segment ${unique()}` }),
    full: () => ({
      name: `Segment ${unique()}`,
      publicName: "People of Paris",
      description: "For letters in French",
      isGlobal: false,
      isPreferenceCenter: true,
      filters: [{ glue: "and", object: "lead", field: "city", type: "text", operator: "=", filter: "Paris" }],
    }),
    change: { isPublished: false },
    cleared: { description: null, filters: [] },
    refused: {
      name: { description: "without a name" },
      publicName: { name: "A", publicName: "x".repeat(192) },
      category: { name: "A", category: 2_000_000_000 },
      filters: { name: "A", filters: [{ field: "shoe_colour", operator: "=", filter: "red" }] },
    },
    read: readSegment,
  },
  {
    path: "companies",
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
    path: "notes",
    minimal: () => ({ text: `Note ${unique()}`, lead: CONTACT_ID }),
    full: () => ({
      text: `<p>Met <b>Ada</b>, ${unique()}</p>`,
      type: "meeting",
      dateTime: "2026-01-02T03:04:00+00:00",
      lead: CONTACT_ID,
    }),
    change: { type: "call" },
    cleared: { type: "general" },
    refused: {
      lead: { text: "Whose?" },
      type: { text: "Hello", type: "rumour", lead: CONTACT_ID },
      text: { text: "<script>alert(1)</script>", lead: CONTACT_ID },
    },
    read: readOfContact,
  },
  {
    path: "devices",
    minimal: () => ({ lead: CONTACT_ID }),
    full: () => ({
      lead: CONTACT_ID,
      device: "smartphone",
      deviceBrand: "Fairphone",
      deviceModel: "5",
      deviceOsName: "Android",
      deviceOsShortName: "AND",
      deviceOsVersion: "15",
      deviceOsPlatform: "ARM",
      clientInfo: { type: "browser", name: "Firefox" },
    }),
    change: { deviceOsVersion: "16" },
    cleared: { device: null, deviceBrand: null, deviceOsName: null, clientInfo: null },
    refused: {
      lead: { device: "tablet", lead: 2_000_000_000 },
      device: { device: "x".repeat(192), lead: CONTACT_ID },
      clientInfo: { clientInfo: "Firefox", lead: CONTACT_ID },
    },
    read: readOfContact,
  },
  {
    path: "tags",
    minimal: () => ({ tag: `tag ${unique()}` }),
    full: () => ({ tag: `tag ${unique()}`, description: "A word" }),
    change: { description: "Another word" },
    cleared: { description: null },
    refused: { tag: { tag: "" }, description: { tag: "described", description: ["a", "list"] } },
    read: readMember,
  },
  {
    path: "roles",
    minimal: () => ({ name: `Role ${unique()}` }),
    full: () => ({
      name: `Role ${unique()}`,
      description: "Looks after contacts",
      isAdmin: false,
      rawPermissions: { "lead:leads": ["full"], "api:access": ["full"] },
    }),
    change: { description: "Looks after companies" },
    cleared: { description: null, rawPermissions: null, isPublished: false },
    refused: {
      name: { name: "" },
      rawPermissions: { name: "Too much", rawPermissions: { "lead:leads": ["everything"] } },
      isAdmin: { name: "Perhaps", isAdmin: "perhaps" },
    },
    read: readMember,
  },
  {
    path: "users",
    minimal: () => person(),
    full: () => ({
      ...person(),
      position: "Analyst",
      timezone: "Europe/Paris",
      locale: "fr",
      signature: "<b>Ada</b>",
      isPublished: true,
    }),
    change: { position: "Countess" },
    cleared: { position: null, signature: null, timezone: "", locale: "", isPublished: false },
    fixed: ["username"],
    hidden: ["plainPassword"],
    refused: {
      username: { ...person(), username: "" },
      firstName: { ...person(), firstName: "" },
      lastName: { ...person(), lastName: " " },
      email: { ...person(), email: "not an address" },
      role: { ...person(), role: 2_000_000_000 },
      plainPassword: { ...person(), plainPassword: { password: "password", confirm: "password" } },
      timezone: { ...person(), timezone: "Middle/Earth" },
      locale: { ...person(), locale: "tlh_QQQ" },
    },
    read: (entity, key) => (key === "role" ? (entity.role as Entity).id : entity[key]),
  },
];

/** Every resource with the standard operations: what its declaration says is sent where nothing is written by hand. */
export const resources: Resource[] = mounted.map(({ path, one, many, shape, total, service }) => ({
  ...(byHand.find((bodies) => bodies.path === path) ?? declaredBodies(standardOf(service).resource, unique)),
  path,
  one,
  many,
  shape,
  total: total === "int" ? "number" : "string",
}));
