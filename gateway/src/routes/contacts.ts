import { type Contact, ContactMethodService, ContactSchema } from "@tidings/proto/tidings/contact/v1/contact";
import {
  type GroupScore,
  GroupScoreSchema,
  GroupScoreService,
} from "@tidings/proto/tidings/contact/v1/group_score";
import { UtmTagService } from "@tidings/proto/tidings/contact/v1/utm_tags";
import { jsonBytes } from "@tidings/resource/json-member";
import { badRequest } from "@tidings/rpc/fault";
import { sendJson } from "../rest/exchange.ts";
import { messageWriter } from "../rest/message-json.ts";
import { type Answer, messageAnswer, SUCCESS, textAnswer } from "../route/answer.ts";
import { objectBody } from "../route/body-form.ts";
import { entityId, id, notPoints, POINTS, word } from "../route/parameter.ts";
import { type Route, route } from "../route/route.ts";
import {
  arrayOf,
  COUNT,
  closed,
  type Schema,
  SWITCH,
  TEXT,
  TEXT_OR_NULL,
  WHOLE_NUMBER,
} from "../route/schema.ts";
import { oldPath } from "./old-paths.ts";
import type { RoutesContext } from "./routes-context.ts";

const writeContact = messageWriter(ContactSchema);
const writeScore = messageWriter(GroupScoreSchema);
const NO_CONTACT = { missing: "Contact could not be found." };
const MEMBERS = new Set(ContactSchema.fields.map(({ jsonName }) => jsonName));

const viewed = entityId("contacts", "view");
const edited = entityId("contacts", "edit");
const channel = word("`email` or `sms`");
const operator = word("`plus`, `minus`, `times` or `divide`");
const groupId = entityId("points/groups", "view", { missing: "The specified point group was not found." });

/** The names that the log shows for a change. */
const NAMES = objectBody({
  type: "object",
  properties: { eventName: TEXT, actionName: TEXT },
  examples: [{ eventName: "Webinar", actionName: "Attended" }],
});

/** The contact without its empty members, as these operations answer it. */
const CONTACT: Answer<Contact> = messageAnswer("contact", ContactSchema, {
  write: (contact: Contact) => writeContact(contact, MEMBERS),
  isPart: true,
});

interface Removal {
  found: boolean;
  contact?: Contact | undefined;
}

const REMOVED: Answer<Removal> = {
  statuses: [200],
  describe: (components) => closed({ recordFound: SWITCH, contact: components.present(ContactSchema) }),
  send(response, { found, contact }) {
    if (!contact) throw new Error("the service answered no contact");
    sendJson(response, 200, `{"recordFound":${found},"contact":${writeContact(contact, MEMBERS)}}`);
  },
};

const LISTED_FIELD = closed({
  ...{ id: COUNT, label: TEXT, alias: TEXT, type: TEXT, group: TEXT, order: WHOLE_NUMBER, object: TEXT },
});

/** A company with the columns of its table, all as text; with these alone where the caller does not see it. */
const LISTED_COMPANY: Schema = {
  type: "object",
  properties: {
    ...{ company_id: TEXT, id: TEXT, companyname: TEXT_OR_NULL, date_associated: TEXT_OR_NULL },
    is_primary: { enum: ["0", "1"] },
  },
  required: ["company_id", "companyname", "is_primary"],
  additionalProperties: TEXT_OR_NULL,
};

/** Null while the contact has no points in the group. */
const SCORE: Answer<GroupScore | undefined> = {
  statuses: [200],
  describe: (components) =>
    closed({ groupScore: { anyOf: [components.answered(GroupScoreSchema), { type: "null" }] } }),
  send: (response, score) => sendJson(response, 200, `{"groupScore":${score ? writeScore(score) : "null"}}`),
};

/** Routes of contacts beyond the standard operations. */
export function contactRoutes(context: RoutesContext): Route[] {
  const contacts = context.clients.of(ContactMethodService);
  const rpc = ContactMethodService.method;
  return [
    route({
      method: "GET",
      path: "/contacts/list/fields",
      summary: "List the fields of contacts",
      rpc: rpc.listContactFields,
      operation: "listFieldsForContacts",
      answer: textAnswer(() => ({ type: "object", additionalProperties: LISTED_FIELD })),
      async handle({ options }) {
        const { fields } = await contacts.listContactFields({}, options);
        return Buffer.from(fields).toString();
      },
    }),
    route({
      method: "POST",
      path: "/contacts/:id/points/:operator/:delta",
      summary: "Change the points of a contact",
      rpc: rpc.changeContactPoints,
      parameters: { id: edited, operator, delta: POINTS },
      body: NAMES,
      answer: SUCCESS,
      handle({ parameters, body, options }) {
        if (parameters.delta < 0) throw notPoints();
        return contacts.changeContactPoints({ ...parameters, ...namesIn(body) }, options);
      },
    }),
    route({
      method: "POST",
      path: "/contacts/:id/merge/:mergedId",
      summary: "Merge another contact into a contact",
      rpc: rpc.mergeContacts,
      parameters: { id: edited, mergedId: entityId("contacts", "delete") },
      answer: CONTACT,
      handle: ({ parameters, options }) => contacts.mergeContacts(parameters, options),
    }),
    route({
      method: "GET",
      path: "/contacts/:id/companies",
      summary: "List the companies of a contact",
      rpc: rpc.listContactCompanies,
      parameters: { id: viewed },
      answer: textAnswer(() => closed({ total: WHOLE_NUMBER, companies: arrayOf(LISTED_COMPANY) })),
      async handle({ parameters, options }) {
        const { companies, totalSize } = await contacts.listContactCompanies(parameters, options);
        return `{"total":${totalSize},"companies":${Buffer.from(companies).toString()}}`;
      },
    }),
    ...doNotContactRoutes(context),
    ...groupScoreRoutes(context),
    ...utmTagRoutes(context),
  ];
}

function doNotContactRoutes({ clients }: RoutesContext): Route[] {
  const contacts = clients.of(ContactMethodService);
  const rpc = ContactMethodService.method;
  return [
    route({
      method: "POST",
      path: "/contacts/:id/dnc/:channel/add",
      summary: "Say that a contact does not want to be contacted",
      rpc: rpc.addDoNotContact,
      parameters: { id: edited, channel },
      body: objectBody({
        type: "object",
        properties: { reason: {}, channelId: {}, comments: TEXT },
        examples: [{ reason: 3, comments: "Asked on the phone" }],
      }),
      answer: CONTACT,
      aliases: oldPath("/contacts/:id/dnc/add/:channel"),
      handle: ({ parameters, body, options }) =>
        contacts.addDoNotContact({ ...parameters, entry: jsonBytes(body) }, options),
    }),
    route({
      method: "POST",
      path: "/contacts/:id/dnc/:channel/remove",
      summary: "Say that a contact may be contacted again",
      rpc: rpc.removeDoNotContact,
      parameters: { id: edited, channel },
      answer: REMOVED,
      aliases: oldPath("/contacts/:id/dnc/remove/:channel"),
      handle: ({ parameters, options }) => contacts.removeDoNotContact(parameters, options),
    }),
  ];
}

function groupScoreRoutes({ clients }: RoutesContext): Route[] {
  const scores = clients.of(GroupScoreService);
  const rpc = GroupScoreService.method;
  return [
    route({
      method: "GET",
      path: "/contacts/:id/points/groups",
      summary: "List the scores of a contact by point group",
      rpc: rpc.listGroupScores,
      parameters: { id: entityId("contacts", "view", NO_CONTACT) },
      answer: textAnswer((components) =>
        closed({ total: WHOLE_NUMBER, groupScores: arrayOf(components.answered(GroupScoreSchema)) }),
      ),
      async handle({ parameters: { id: contactId }, options }) {
        const { scores: list, totalSize } = await scores.listGroupScores({ contactId }, options);
        return `{"total":${totalSize},"groupScores":[${list.map((score) => writeScore(score)).join(",")}]}`;
      },
    }),
    route({
      method: "GET",
      path: "/contacts/:id/points/groups/:groupId",
      summary: "Get the score of a contact in a point group",
      rpc: rpc.getGroupScore,
      parameters: { id: entityId("contacts", "view", NO_CONTACT), groupId },
      answer: SCORE,
      async handle({ parameters: { id: contactId, groupId }, options }) {
        const { score } = await scores.getGroupScore({ contactId, groupId }, options);
        return score;
      },
    }),
    route({
      method: "POST",
      path: "/contacts/:id/points/groups/:groupId/:operator/:value",
      summary: "Change the score of a contact in a point group",
      rpc: rpc.changeGroupScore,
      parameters: {
        id: entityId("contacts", "edit", NO_CONTACT),
        groupId,
        operator: word("`plus`, `minus`, `times`, `divide` or `set`"),
        value: POINTS,
      },
      body: NAMES,
      answer: SCORE,
      async handle({ parameters: { id: contactId, ...change }, body, options }) {
        if (change.value < 0 && change.operator !== "set") throw notPoints();
        const { score } = await scores.changeGroupScore({ contactId, ...change, ...namesIn(body) }, options);
        return score;
      },
    }),
  ];
}

function utmTagRoutes({ clients }: RoutesContext): Route[] {
  const utmTags = clients.of(UtmTagService);
  const rpc = UtmTagService.method;
  const names = ["utm_source", "utm_medium", "utm_campaign", "utm_content", "utm_term"];
  return [
    route({
      method: "POST",
      path: "/contacts/:id/utm/add",
      summary: "Add UTM tags to a contact",
      rpc: rpc.addUtmTags,
      parameters: { id: edited },
      body: objectBody({
        type: "object",
        properties: Object.fromEntries(names.map((name) => [name, TEXT])),
        examples: [{ utm_source: "news" }],
      }),
      answer: CONTACT,
      handle: ({ parameters, body, options }) =>
        utmTags.addUtmTags({ ...parameters, tags: jsonBytes(body) }, options),
    }),
    route({
      method: "POST",
      path: "/contacts/:id/utm/:utmTagsId/remove",
      summary: "Remove UTM tags from a contact",
      rpc: rpc.removeUtmTags,
      parameters: { id: edited, utmTagsId: id("Id of UTM tags") },
      answer: REMOVED,
      handle: ({ parameters, options }) => utmTags.removeUtmTags(parameters, options),
    }),
  ];
}

/** Older clients write the members in lower case. */
function namesIn(body: Record<string, unknown>) {
  const { eventName, eventname = eventName, actionName, actionname = actionName } = body;
  return { eventName: labelOf(eventname), actionName: labelOf(actionname) };
}

function labelOf(value: unknown): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "object") throw badRequest("eventName and actionName must be text.");
  return String(value);
}
