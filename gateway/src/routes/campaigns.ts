import {
  CampaignContactSchema,
  CampaignEventSchema,
  CampaignLinkSchema,
  CampaignMembershipSchema,
  CampaignMethodService,
  CampaignSchema,
  type ContactCampaign,
  ContactCampaignSchema,
  type ContactLog,
  type EditedEventLog,
  type EventLogEdit,
  EventLogEditSchema,
  EventLogSchema,
  type EventWithLogs,
  type LocatedEvent,
} from "@tidings/proto/tidings/campaign/v1/campaign";
import { badRequest, Fault } from "@tidings/rpc/fault";
import { statusToFault } from "@tidings/rpc/fault-status";
import { errorEntry } from "../rest/error.ts";
import { sendJson } from "../rest/exchange.ts";
import { type Body, bodyDecoder } from "../rest/message-input.ts";
import { messageWriter } from "../rest/message-json.ts";
import { type Answer, listAnswer, listQuery, messageAnswer, SUCCESS, textAnswer } from "../route/answer.ts";
import { batchError } from "../route/batch-routes.ts";
import { batchBody, messageBody } from "../route/body-form.ts";
import { entityId, id } from "../route/parameter.ts";
import { type Route, route } from "../route/route.ts";
import { arrayOf, byId, type Components, closed, extended, type Schema } from "../route/schema.ts";
import { oldMemberPath } from "./old-paths.ts";
import type { RoutesContext } from "./routes-context.ts";

const writeLink = messageWriter(CampaignLinkSchema);
const writeEvent = messageWriter(CampaignEventSchema);
const writeLog = messageWriter(EventLogSchema);
const writeMember = messageWriter(CampaignContactSchema);
const writeMembership = messageWriter(CampaignMembershipSchema);
const writeContactCampaign = messageWriter(ContactCampaignSchema);
const decodeEdit = bodyDecoder(EventLogEditSchema);

/** Members are listed as the table of them is, in pages of its own size. */
const MEMBERS_PAGE = 100;
/** The most log entries of one page. */
const LOGS_PAGE_MAX = 500;

const EVENTS = { many: "events", shape: "array", total: "int" } as const;
const NO_CONTACT = { missing: "Contact not found." };
const viewed = entityId("campaigns", "view");
const contact = (verb: "view" | "edit") => entityId("contacts", verb, NO_CONTACT);

/** Routes of campaigns beyond the standard operations. */
export function campaignRoutes(context: RoutesContext): Route[] {
  const { clients, nested } = context;
  const campaigns = clients.of(CampaignMethodService);
  const rpc = CampaignMethodService.method;
  const cloned = messageAnswer("campaign", CampaignSchema, {
    write: messageWriter(CampaignSchema, nested),
    madeAt: "campaigns",
  });
  return [
    route({
      method: "POST",
      path: "/campaigns/clone/:id",
      summary: "Make a copy of a campaign",
      rpc: rpc.cloneCampaign,
      parameters: { id: entityId("campaigns", "view", { isAskedAnew: true }) },
      answer: cloned,
      handle: ({ parameters, options }) => campaigns.cloneCampaign(parameters, options),
    }),
    ...memberRoutes(context),
    ...eventRoutes(context),
    ...logRoutes(context),
    route({
      method: "GET",
      path: "/contacts/:id/campaigns",
      summary: "List the campaigns of a contact",
      rpc: rpc.listContactCampaigns,
      parameters: { id: contact("view") },
      answer: textAnswer((components) =>
        closed({ total: { type: "integer" }, campaigns: byId(components.answered(ContactCampaignSchema)) }),
      ),
      async handle({ parameters: { id: contactId }, options }) {
        const { campaigns: found } = await campaigns.listContactCampaigns({ contactId }, options);
        const entries = found.map((campaign) => `"${campaign.id}":${writeOfContact(campaign)}`);
        return `{"total":${found.length},"campaigns":{${entries.join(",")}}}`;
      },
    }),
  ];
}

function memberRoutes({ clients, limits }: RoutesContext): Route[] {
  const campaigns = clients.of(CampaignMethodService);
  const rpc = CampaignMethodService.method;
  const parameters = { id: viewed, contactId: contact("edit") };
  return [
    route({
      method: "GET",
      path: "/campaigns/:id/contacts",
      summary: "List the members of a campaign",
      rpc: rpc.listCampaignContacts,
      parameters: { id: viewed },
      query: listQuery({ ...limits, pageSize: MEMBERS_PAGE }),
      answer: listAnswer({ many: "contacts", shape: "array", total: "string" }, CampaignContactSchema, {
        write: (item) => writeMember(item),
      }),
      handle: ({ parameters: { id }, query }) => ({
        parameters: query,
        async list(query, options) {
          const { contacts: items, ...page } = await campaigns.listCampaignContacts({ id, query }, options);
          return { ...page, items };
        },
      }),
    }),
    route({
      method: "POST",
      path: "/campaigns/:id/contact/:contactId/add",
      summary: "Add a contact to a campaign",
      rpc: rpc.addCampaignContact,
      parameters,
      answer: SUCCESS,
      aliases: oldMemberPath("campaigns", "add"),
      handle: ({ parameters: named, options }) => campaigns.addCampaignContact(named, options),
    }),
    route({
      method: "POST",
      path: "/campaigns/:id/contact/:contactId/remove",
      summary: "Remove a contact from a campaign",
      rpc: rpc.removeCampaignContact,
      parameters,
      answer: SUCCESS,
      aliases: oldMemberPath("campaigns", "remove"),
      handle: ({ parameters: named, options }) => campaigns.removeCampaignContact(named, options),
    }),
  ];
}

function eventRoutes({ clients, limits }: RoutesContext): Route[] {
  const campaigns = clients.of(CampaignMethodService);
  const rpc = CampaignMethodService.method;
  return [
    route({
      method: "GET",
      path: "/campaigns/events",
      summary: "List the events of all campaigns",
      rpc: rpc.listCampaignEvents,
      query: listQuery(limits),
      answer: listAnswer(EVENTS, CampaignEventSchema, {
        write: (item) => writeLocated(item as LocatedEvent),
        describe: describeLocated,
      }),
      handle: ({ query }) => ({
        parameters: query,
        async list(query, options) {
          const { events: items, ...page } = await campaigns.listCampaignEvents({ query }, options);
          return { ...page, items };
        },
      }),
    }),
    route({
      method: "GET",
      path: "/campaigns/events/:id",
      summary: "Get an event of a campaign",
      rpc: rpc.getCampaignEvent,
      parameters: { id: id("Id of an event") },
      answer: textAnswer((components) => closed({ event: describeLocated(components) })),
      handle: async ({ parameters, options }) =>
        `{"event":${writeLocated(await campaigns.getCampaignEvent(parameters, options))}}`,
    }),
    route({
      method: "GET",
      path: "/campaigns/:id/events/contact/:contactId",
      summary: "List the events of a campaign with what became of them for a contact",
      rpc: rpc.listCampaignContactEvents,
      parameters: { id: viewed, contactId: contact("view") },
      errors: [409],
      answer: textAnswer((components) =>
        closed({
          total: { type: "integer" },
          events: arrayOf(describeWithLogs(components)),
          campaign: linkOrNull(components),
          membership: arrayOf(components.answered(CampaignMembershipSchema)),
        }),
      ),
      async handle({ parameters: named, options }) {
        const { events, campaign, membership } = await campaigns.listCampaignContactEvents(named, options);
        const list = events.map(writeWithLogs).join(",");
        const memberships = membership ? writeMembership(membership) : "";
        return `{"total":${events.length},"events":[${list}],"campaign":${writeOr(writeLink, campaign)},"membership":[${memberships}]}`;
      },
    }),
  ];
}

function logRoutes({ clients, limits }: RoutesContext): Route[] {
  const campaigns = clients.of(CampaignMethodService);
  const rpc = CampaignMethodService.method;
  const limitMax = Math.min(limits.limitMax, LOGS_PAGE_MAX);
  return [
    route({
      method: "GET",
      path: "/campaigns/events/contact/:contactId",
      summary: "List what became of the events of all campaigns for a contact",
      rpc: rpc.listContactEvents,
      parameters: { contactId: contact("view") },
      query: listQuery({ ...limits, limitMax }),
      answer: listAnswer(EVENTS, EventLogSchema, {
        write: (item) => writeContactLog(item as ContactLog),
        describe: describeContactLog,
      }),
      handle: ({ parameters: { contactId }, query }) => ({
        parameters: query,
        async list(query, options) {
          const { logs: items, totalSize } = await campaigns.listContactEvents({ contactId, query }, options);
          return { items, totalSize, ids: [] };
        },
      }),
    }),
    route({
      method: "PUT",
      path: "/campaigns/events/:eventId/contact/:contactId/edit",
      summary: "Change when an event of a campaign is due for a contact",
      rpc: rpc.editEventLogs,
      operation: "editEventLog",
      parameters: { eventId: id("Id of an event"), contactId: id("Id of a contact", NO_CONTACT.missing) },
      body: messageBody(EventLogEditSchema),
      answer: EDITED,
      errors: [409],
      async handle({ parameters: named, body, options }) {
        const { results } = await campaigns.editEventLogs({ edits: [{ ...body, ...named }] }, options);
        const [result] = results;
        if (!result?.status || result.status.error) throw faultIn(result);
        return result;
      },
    }),
    route({
      method: "PUT",
      path: "/campaigns/events/batch/edit",
      summary: "Change when several events are due for contacts",
      rpc: rpc.editEventLogs,
      budget: "batch",
      body: batchBody((components) => ({
        type: "array",
        maxItems: limits.batchMax,
        items: components.sent(EventLogEditSchema),
      })),
      answer: textAnswer((components) =>
        closed({ events: byId(describeEdited(components)), errors: byId(batchError(components)) }, [
          "errors",
        ]),
      ),
      async handle({ body, options }) {
        const decoded = decodeAll(body, limits.batchMax);
        const edits = decoded.flatMap((item) => (item instanceof Fault ? [] : [item]));
        // Asked even without contacts, so that a missing right is a 403.
        const { results } = await campaigns.editEventLogs({ edits }, options);
        const answers = results.values();
        const outcomes = decoded.map((item) =>
          item instanceof Fault ? item : (answers.next().value ?? faultIn()),
        );
        return batchJson(outcomes);
      },
    }),
  ];
}

const EDITED: Answer<EditedEventLog> = {
  statuses: [200, 201],
  describe: (components) => closed({ event: describeEdited(components) }),
  send: (response, edited) =>
    sendJson(response, edited.status?.created ? 201 : 200, `{"event":${writeEdited(edited)}}`),
};

/** The membership list is there only where it has entries. */
function writeOfContact(campaign: ContactCampaign): string {
  const json = writeContactCampaign(campaign);
  return campaign.listMembership.length > 0 ? json : json.replace(',"listMembership":[]', "");
}

/** A JSON object with more members, which are JSON themselves. */
function withMember(json: string, members: Record<string, string>): string {
  const added = Object.entries(members).map(([name, value]) => `"${name}":${value}`);
  return json === "{}" ? `{${added.join(",")}}` : `${json.slice(0, -1)},${added.join(",")}}`;
}

function writeOr<M>(write: (message: M) => string, message: M | undefined): string {
  return message ? write(message) : "null";
}

function linkOrNull(components: Components): Schema {
  return { anyOf: [components.answered(CampaignLinkSchema), { type: "null" }] };
}

function writeLocated({ event, campaign }: LocatedEvent): string {
  return withMember(event ? writeEvent(event) : "{}", { campaign: writeOr(writeLink, campaign) });
}

function describeLocated(components: Components): Schema {
  return extended(components.members(CampaignEventSchema), { campaign: linkOrNull(components) });
}

function writeContactLog({ event, log }: ContactLog): string {
  return withMember(log ? writeLog(log) : "{}", {
    event: writeOr(writeEvent, event?.event),
    campaign: writeOr(writeLink, event?.campaign),
  });
}

function describeContactLog(components: Components): Schema {
  return extended(components.members(EventLogSchema), {
    event: { anyOf: [components.answered(CampaignEventSchema), { type: "null" }] },
    campaign: linkOrNull(components),
  });
}

function writeWithLogs({ event, logs }: EventWithLogs): string {
  return withMember(event ? writeEvent(event) : "{}", {
    contactLog: `[${logs.map((log) => writeLog(log)).join(",")}]`,
  });
}

function describeWithLogs(components: Components, more: Record<string, Schema> = {}): Schema {
  const contactLog = arrayOf(components.answered(EventLogSchema));
  return extended(components.members(CampaignEventSchema), { contactLog, ...more });
}

function writeEdited({ event, campaign }: EditedEventLog): string {
  return withMember(event ? writeWithLogs(event) : "{}", { campaign: writeOr(writeLink, campaign) });
}

function describeEdited(components: Components): Schema {
  return describeWithLogs(components, { campaign: linkOrNull(components) });
}

function faultIn(result?: EditedEventLog): Fault {
  const error = result?.status?.error;
  if (!error) throw new Error("an edit has an outcome");
  return statusToFault(error);
}

function decodeAll(body: unknown, itemsMax: number): (EventLogEdit | Fault)[] {
  if (typeof body !== "object" || body === null) throw badRequest("The body must be a list.");
  const items = Object.values(body);
  if (items.length > itemsMax) throw badRequest(`A max of ${itemsMax} entities are supported at a time.`);
  return items.map((item) => {
    if (typeof item !== "object" || item === null || Array.isArray(item))
      return badRequest("The item must be an object.");
    try {
      return decodeEdit(item as Body).message as EventLogEdit;
    } catch (error) {
      if (error instanceof Fault) return error;
      throw error;
    }
  });
}

/** Events by their ids, and what is wrong with the others by their places in the request. */
function batchJson(outcomes: (EditedEventLog | Fault)[]): string {
  const events = new Map<number, string>();
  const errors: string[] = [];
  outcomes.forEach((outcome, index) => {
    const fault = outcome instanceof Fault ? outcome : outcome.status?.error && faultIn(outcome);
    if (fault) {
      const { code, message, details } = errorEntry(fault);
      errors.push(`"${index}":${JSON.stringify({ code, message, details, type: null })}`);
    } else if (!(outcome instanceof Fault)) {
      events.set(outcome.event?.event?.id ?? 0, writeEdited(outcome));
    }
  });
  const byId = [...events].map(([id, json]) => `"${id}":${json}`).join(",");
  return `{"events":{${byId}}${errors.length > 0 ? `,"errors":{${errors.join(",")}}` : ""}}`;
}
