import type { Verb } from "./oracle.ts";

/** An entity of a path: its parameter, and what the route needs to do with it. */
export interface Named {
  resource: string;
  parameter: string;
  base: string;
  verb: Verb;
  hidden?: number;
  /** The right itself is checked before the entity is read, by another service than the one before. */
  isAskedAnew?: boolean;
}

/** A route beyond the standard operations. */
export interface CustomRoute {
  method: string;
  template: string;
  /** The right asked for before anything is looked at; every signed-in principal may when absent. */
  right?: { base: string; verb: Verb };
  /** In the order they are looked at. */
  things: Named[];
  body?: object;
  /** The status for callers who may; 200 when absent. */
  ok?: number;
  /** The status for an app on its own, where it differs. */
  okForApps?: number;
}

const CONTACTS = "lead:leads";
const LISTS = "lead:lists";
const TRIGGERS = "point:triggers";
const THEMES = "core:themes";
const contact = (verb: Verb, parameter = "id"): Named => ({
  resource: "contacts",
  parameter,
  base: CONTACTS,
  verb,
});
const segment = (hidden?: number): Named => ({
  resource: "segments",
  parameter: "id",
  base: LISTS,
  verb: "view",
  ...(hidden && { hidden }),
});
const stage: Named = { resource: "stages", parameter: "id", base: "stage:stages", verb: "view" };
const pointGroup: Named = {
  resource: "points/groups",
  parameter: "groupId",
  base: "point:groups",
  verb: "view",
};
/** Old clients have the verb first. */
const MEMBER_PATHS = [
  "contact/:contactId/add",
  "contact/:contactId/remove",
  "contact/add/:contactId",
  "contact/remove/:contactId",
];
const CAMPAIGNS = "campaign:campaigns";
const campaign = (verb: Verb): Named => ({ resource: "campaigns", parameter: "id", base: CAMPAIGNS, verb });
const company: Named = { resource: "companies", parameter: "id", base: CONTACTS, verb: "view" };

function ofContacts(method: string, path: string, verb: Verb, body?: object): CustomRoute {
  const template = `/contacts/:id/${path}`;
  return {
    method,
    template,
    right: { base: CONTACTS, verb },
    things: [contact(verb)],
    ...(body && { body }),
  };
}

function inSegments(method: string, path: string, named: Named[], body?: object): CustomRoute {
  const template = `/segments/:id/${path}`;
  return { method, template, right: { base: LISTS, verb: "view" }, things: named, ...(body && { body }) };
}

function ofUsers(method: string, path: string, body?: object): CustomRoute {
  return {
    method,
    template: `/users/:id/${path}`,
    right: { base: "user:users", verb: "edit" },
    things: [{ resource: "users", parameter: "id", base: "user:users", verb: "edit" }],
    ...(body && { body }),
  };
}

/** Submission 1 is there in no form of the matrix: a caller who may view the form gets 404. */
function ofForms(method: string, path: string, verb: Verb, ok?: number): CustomRoute {
  return {
    method,
    template: `/forms/:id/${path}`,
    right: { base: "form:forms", verb },
    things: [{ resource: "forms", parameter: "id", base: "form:forms", verb }],
    ...(ok && { ok }),
  };
}

/** Membership follows the segment's own rights: it says 403 of a segment that is there and hidden. */
const membership = [segment(403), contact("edit", "contactId")];

/** THE table of routes beyond the standard operations, with what each asks for. */
export const customRoutes: CustomRoute[] = [
  { method: "GET", template: "/contacts/list/fields", things: [] },
  {
    method: "GET",
    template: "/contacts/list/owners",
    right: { base: CONTACTS, verb: "view" },
    things: [],
  },
  {
    method: "GET",
    template: "/contacts/list/segments",
    right: { base: LISTS, verb: "view" },
    things: [],
  },
  ofContacts("POST", "points/:operator/:delta", "edit"),
  ofContacts("GET", "points/groups", "view"),
  {
    method: "GET",
    template: "/contacts/:id/points/groups/:groupId",
    right: { base: CONTACTS, verb: "view" },
    things: [contact("view"), pointGroup],
  },
  {
    method: "POST",
    template: "/contacts/:id/points/groups/:groupId/:operator/:value",
    right: { base: CONTACTS, verb: "edit" },
    things: [contact("edit"), pointGroup],
  },
  ofContacts("POST", "utm/add", "edit", { utm_source: "news" }),
  // There are no such tags: an error for a contact that may be changed.
  { ...ofContacts("POST", "utm/:utmTagsId/remove", "edit"), ok: 400 },
  ofContacts("POST", "dnc/:channel/add", "edit"),
  ofContacts("POST", "dnc/:channel/remove", "edit"),
  ofContacts("POST", "dnc/add/:channel", "edit"),
  ofContacts("POST", "dnc/remove/:channel", "edit"),
  ofContacts("GET", "companies", "view"),
  ofContacts("GET", "notes", "view"),
  ofContacts("GET", "devices", "view"),
  {
    method: "POST",
    template: "/contacts/:id/merge/:mergedId",
    right: { base: CONTACTS, verb: "edit" },
    things: [contact("edit"), contact("delete", "mergedId")],
  },
  {
    method: "GET",
    template: "/contacts/:id/segments",
    right: { base: LISTS, verb: "view" },
    things: [contact("view")],
  },
  ...MEMBER_PATHS.map(
    (path): CustomRoute => ({
      method: "POST",
      template: `/companies/:id/${path}`,
      right: { base: CONTACTS, verb: "edit" },
      things: [company, contact("edit", "contactId")],
    }),
  ),
  ...MEMBER_PATHS.map((path) => inSegments("POST", path, membership)),
  ...MEMBER_PATHS.map(
    (path): CustomRoute => ({
      method: "POST",
      template: `/stages/:id/${path}`,
      right: { base: "stage:stages", verb: "view" },
      things: [stage, { ...contact("edit", "contactId"), isAskedAnew: true }],
    }),
  ),
  {
    method: "GET",
    template: "/campaigns/:id/events/contact/:contactId",
    right: { base: CAMPAIGNS, verb: "view" },
    things: [campaign("view"), contact("view", "contactId")],
    // No contact was added to it yet.
    ok: 409,
  },
  ...MEMBER_PATHS.map(
    (path): CustomRoute => ({
      method: "POST",
      template: `/campaigns/:id/${path}`,
      right: { base: CAMPAIGNS, verb: "view" },
      things: [campaign("view"), contact("edit", "contactId")],
    }),
  ),
  {
    method: "POST",
    template: "/campaigns/clone/:id",
    right: { base: CAMPAIGNS, verb: "create" },
    things: [{ ...campaign("view"), isAskedAnew: true }],
    ok: 201,
  },
  {
    method: "GET",
    template: "/campaigns/:id/contacts",
    right: { base: CAMPAIGNS, verb: "view" },
    things: [campaign("view")],
  },
  { method: "GET", template: "/campaigns/events", right: { base: CAMPAIGNS, verb: "view" }, things: [] },
  {
    method: "GET",
    template: "/campaigns/events/:id",
    right: { base: CAMPAIGNS, verb: "view" },
    things: [],
    ok: 404,
  },
  {
    method: "GET",
    template: "/campaigns/events/contact/:contactId",
    right: { base: CAMPAIGNS, verb: "view" },
    things: [contact("view", "contactId")],
  },
  {
    method: "PUT",
    template: "/campaigns/events/:eventId/contact/:contactId/edit",
    right: { base: CAMPAIGNS, verb: "edit" },
    things: [],
    body: {},
    ok: 404,
  },
  {
    method: "PUT",
    template: "/campaigns/events/batch/edit",
    right: { base: CAMPAIGNS, verb: "edit" },
    things: [],
    body: [],
  },
  {
    method: "GET",
    template: "/contacts/:id/campaigns",
    right: { base: CAMPAIGNS, verb: "view" },
    things: [contact("view")],
  },
  inSegments("POST", "contacts/add", [segment(403)], { ids: [2_000_000_000, 2_000_000_001] }),
  inSegments("GET", "contact/:contactId/explain", [segment(), contact("view", "contactId")]),
  inSegments("GET", "build", [segment()]),
  {
    method: "POST",
    template: "/segments/preview",
    right: { base: LISTS, verb: "view" },
    things: [],
    body: { filters: [] },
  },
  {
    method: "POST",
    template: "/focus/:id/js",
    right: { base: "focus:items", verb: "view" },
    things: [{ resource: "focus", parameter: "id", base: "focus:items", verb: "view" }],
  },
  ofForms("DELETE", "fields/delete", "edit"),
  ofForms("DELETE", "actions/delete", "edit"),
  ofForms("GET", "submissions", "view"),
  ofForms("GET", "submissions/contact/:contactId", "view"),
  ofForms("GET", "submissions/:submissionId", "view", 404),
  { method: "GET", template: "/audit", right: { base: "audit:log", verb: "view" }, things: [] },
  { method: "GET", template: "/hooks/triggers", things: [] },
  {
    method: "GET",
    template: "/points/actions/types",
    right: { base: "point:points", verb: "view" },
    things: [],
  },
  {
    method: "GET",
    template: "/points/triggers/events/types",
    right: { base: TRIGGERS, verb: "view" },
    things: [],
  },
  {
    method: "DELETE",
    template: "/points/triggers/:id/events/delete",
    right: { base: TRIGGERS, verb: "edit" },
    things: [{ resource: "points/triggers", parameter: "id", base: TRIGGERS, verb: "edit" }],
  },
  { method: "GET", template: "/files/:directory", things: [] },
  // Nothing is sent that could be a file, and there is none of the name.
  {
    method: "POST",
    template: "/files/:directory/new",
    right: { base: "asset:assets", verb: "create" },
    things: [],
    ok: 406,
  },
  { method: "DELETE", template: "/files/:directory/:file/delete", things: [], ok: 404 },
  { method: "GET", template: "/themes", right: { base: THEMES, verb: "view" }, things: [] },
  { method: "POST", template: "/themes/new", right: { base: THEMES, verb: "create" }, things: [], ok: 400 },
  { method: "GET", template: "/themes/:theme", right: { base: THEMES, verb: "view" }, things: [], ok: 404 },
  {
    method: "DELETE",
    template: "/themes/:theme/delete",
    right: { base: THEMES, verb: "delete" },
    things: [],
    ok: 404,
  },
  { method: "GET", template: "", things: [] },
  { method: "GET", template: "/users/self", things: [] },
  // Nothing is sent that could be a password.
  { method: "POST", template: "/users/self/password", things: [], ok: 400 },
  { method: "DELETE", template: "/users/self/sessions", things: [], okForApps: 400 },
  ofUsers("POST", "password", { password: "Lantern-Orchid-77", confirm: "Lantern-Orchid-77" }),
  ofUsers("DELETE", "sessions"),
  {
    method: "GET",
    template: "/users/list/roles",
    right: { base: "user:users", verb: "view" },
    things: [],
  },
  {
    method: "POST",
    template: "/users/self/permissioncheck",
    things: [],
    body: { permissions: "lead:leads:view" },
  },
  {
    method: "POST",
    template: "/users/:id/permissioncheck",
    right: { base: "user:users", verb: "view" },
    things: [{ resource: "users", parameter: "id", base: "user:users", verb: "view" }],
    body: { permissions: "lead:leads:view" },
  },
];

/** The standard operations below the path of a resource. */
export const STANDARD: [method: string, path: string][] = [
  ["GET", ""],
  ["POST", "/new"],
  ["GET", "/:id"],
  ["PATCH", "/:id/edit"],
  ["PUT", "/:id/edit"],
  ["DELETE", "/:id/delete"],
  ["POST", "/batch/new"],
  ["PATCH", "/batch/edit"],
  ["PUT", "/batch/edit"],
  ["DELETE", "/batch/delete"],
];
