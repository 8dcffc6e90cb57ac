import {
  CampaignContactSchema,
  CampaignEventSchema,
  CampaignLinkSchema,
  CampaignMembershipSchema,
  CampaignMethodService,
  CampaignSchema,
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
import { type Request, Router } from "express";
import type { Clients } from "../clients.ts";
import type { ApiLimits } from "../rest/crud.ts";
import { endpoint, needing } from "../rest/endpoint.ts";
import { errorEntry } from "../rest/error.ts";
import { type ApiResponse, BUDGET_MS, bodyObject, outgoing, requiredId, sendJson } from "../rest/exchange.ts";
import { sendList } from "../rest/list.ts";
import { readListParameters } from "../rest/list-query.ts";
import { type Body, bodyDecoder } from "../rest/message-input.ts";
import { messageWriter, type NestedForm } from "../rest/message-json.ts";

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

/** Routes of campaigns beyond the standard operations. */
export function campaignRoutes(clients: Clients, limits: ApiLimits, nested: NestedForm): Router {
  const writeCampaign = messageWriter(CampaignSchema, nested);
  const campaigns = clients.of(CampaignMethodService);
  const router = Router({ caseSensitive: true });

  const clone = async (request: Request, response: ApiResponse) => {
    const options = outgoing(response.locals.exchange, BUDGET_MS.write);
    const campaign = await campaigns.cloneCampaign({ id: requiredId(request) }, options);
    response.setHeader("location", `/api/campaigns/${campaign.id}`);
    sendJson(response, 201, `{"campaign":${writeCampaign(campaign)}}`);
  };

  const member = (isAdded: boolean) => async (request: Request, response: ApiResponse) => {
    const named = { id: requiredId(request), contactId: contactOf(request) };
    const options = outgoing(response.locals.exchange, BUDGET_MS.write);
    if (isAdded) await campaigns.addCampaignContact(named, options);
    else await campaigns.removeCampaignContact(named, options);
    sendJson(response, 200, '{"success":true}');
  };

  const listMembers = async (request: Request, response: ApiResponse) => {
    const id = requiredId(request);
    const { exchange } = response.locals;
    const { query } = readListParameters(exchange.query, { ...limits, pageSize: MEMBERS_PAGE });
    const shape = { many: "contacts", shape: "array", total: "string" } as const;
    const list: Lister = async (asked, options) => {
      const { contacts: items, ...page } = await campaigns.listCampaignContacts(
        { id, query: asked },
        options,
      );
      return { ...page, items };
    };
    await sendList(response, shape, { list }, query, (item) => writeMember(item));
  };

  const listEvents = async (_request: Request, response: ApiResponse) => {
    const { query } = readListParameters(response.locals.exchange.query, limits);
    const list: Lister = async (asked, options) => {
      const { events: items, ...page } = await campaigns.listCampaignEvents({ query: asked }, options);
      return { ...page, items };
    };
    await sendList(response, EVENTS, { list }, query, (item) => writeLocated(item as LocatedEvent));
  };

  const getEvent = async (request: Request, response: ApiResponse) => {
    const options = outgoing(response.locals.exchange, BUDGET_MS.read);
    const event = await campaigns.getCampaignEvent({ id: requiredId(request) }, options);
    sendJson(response, 200, `{"event":${writeLocated(event)}}`);
  };

  const listLogs = async (request: Request, response: ApiResponse) => {
    const contactId = contactOf(request);
    const limitMax = Math.min(limits.limitMax, LOGS_PAGE_MAX);
    const { query } = readListParameters(response.locals.exchange.query, { ...limits, limitMax });
    const list: Lister = async (asked, options) => {
      const { logs: items, totalSize } = await campaigns.listContactEvents(
        { contactId, query: asked },
        options,
      );
      return { items, totalSize, ids: [] };
    };
    await sendList(response, EVENTS, { list }, query, (item) => {
      const { event, log } = item as ContactLog;
      return withMember(log ? writeLog(log) : "{}", {
        event: event?.event ? writeEvent(event.event) : "null",
        campaign: event?.campaign ? writeLink(event.campaign) : "null",
      });
    });
  };

  const listOfMember = async (request: Request, response: ApiResponse) => {
    const named = { id: requiredId(request), contactId: contactOf(request) };
    const options = outgoing(response.locals.exchange, BUDGET_MS.read);
    const { events, campaign, membership } = await campaigns.listCampaignContactEvents(named, options);
    const list = events.map(writeWithLogs).join(",");
    const campaignJson = campaign ? writeLink(campaign) : "null";
    const memberships = membership ? writeMembership(membership) : "";
    sendJson(
      response,
      200,
      `{"total":${events.length},"events":[${list}],"campaign":${campaignJson},"membership":[${memberships}]}`,
    );
  };

  const editLog = async (request: Request, response: ApiResponse) => {
    const { exchange } = response.locals;
    const named = { eventId: requiredId(request, "eventId"), contactId: contactOf(request) };
    const edit = { ...(decodeEdit(bodyObject(exchange)).message as EventLogEdit), ...named };
    const { results } = await campaigns.editEventLogs({ edits: [edit] }, outgoing(exchange, BUDGET_MS.write));
    const [result] = results;
    if (!result?.status || result.status.error) throw faultIn(result);
    sendJson(response, result.status.created ? 201 : 200, `{"event":${writeEdited(result)}}`);
  };

  const editLogs = async (_request: Request, response: ApiResponse) => {
    const { exchange } = response.locals;
    const decoded = decodeAll(exchange.body, limits.batchMax);
    const edits = decoded.flatMap((item) => (item instanceof Fault ? [] : [item]));
    // Asked even without contacts, so that a missing right is a 403.
    const { results } = await campaigns.editEventLogs({ edits }, outgoing(exchange, BUDGET_MS.batch));
    const answers = results.values();
    const outcomes = decoded.map((item) =>
      item instanceof Fault ? item : (answers.next().value ?? faultIn()),
    );
    sendJson(response, 200, batchJson(outcomes));
  };

  const rpc = CampaignMethodService.method;
  endpoint(router, "/clone/:id", { POST: needing(rpc.cloneCampaign, clone) });
  endpoint(router, "/events", { GET: listEvents });
  endpoint(router, "/events/batch/edit", { PUT: needing(rpc.editEventLogs, editLogs) });
  endpoint(router, "/events/contact/:contactId", { GET: listLogs });
  endpoint(router, "/events/:eventId/contact/:contactId/edit", { PUT: needing(rpc.editEventLogs, editLog) });
  endpoint(router, "/events/:id", { GET: getEvent });
  endpoint(router, "/:id/contacts", { GET: listMembers });
  endpoint(router, "/:id/events/contact/:contactId", { GET: listOfMember });
  endpoint(router, "/:id/contact/:contactId/add", { POST: needing(rpc.addCampaignContact, member(true)) });
  endpoint(router, "/:id/contact/:contactId/remove", {
    POST: needing(rpc.removeCampaignContact, member(false)),
  });
  // As older clients call them.
  endpoint(router, "/:id/contact/add/:contactId", { POST: needing(rpc.addCampaignContact, member(true)) });
  endpoint(router, "/:id/contact/remove/:contactId", {
    POST: needing(rpc.removeCampaignContact, member(false)),
  });
  return router;
}

/** The campaigns of a contact. */
export function contactCampaignRoutes(clients: Clients): Router {
  const campaigns = clients.of(CampaignMethodService);
  const router = Router({ caseSensitive: true });
  const list = async (request: Request, response: ApiResponse) => {
    const options = outgoing(response.locals.exchange, BUDGET_MS.read);
    const contactId = requiredId(request, "id", "Contact not found.");
    const { campaigns: found } = await campaigns.listContactCampaigns({ contactId }, options);
    const entries = found.map((campaign) => {
      const json = writeContactCampaign(campaign);
      // Present only where it has entries.
      return `"${campaign.id}":${campaign.listMembership.length > 0 ? json : json.replace(',"listMembership":[]', "")}`;
    });
    sendJson(response, 200, `{"total":${found.length},"campaigns":{${entries.join(",")}}}`);
  };
  endpoint(router, "/:id/campaigns", { GET: list });
  return router;
}

type Lister = Parameters<typeof sendList>[2]["list"];

const EVENTS = { many: "events", shape: "array", total: "int" } as const;

function contactOf(request: Request): number {
  return requiredId(request, "contactId", "Contact not found.");
}

/** A JSON object with more members, which are JSON themselves. */
function withMember(json: string, members: Record<string, string>): string {
  const added = Object.entries(members).map(([name, value]) => `"${name}":${value}`);
  return json === "{}" ? `{${added.join(",")}}` : `${json.slice(0, -1)},${added.join(",")}}`;
}

function writeLocated({ event, campaign }: LocatedEvent): string {
  return withMember(event ? writeEvent(event) : "{}", { campaign: campaign ? writeLink(campaign) : "null" });
}

function writeWithLogs({ event, logs }: EventWithLogs): string {
  return withMember(event ? writeEvent(event) : "{}", {
    contactLog: `[${logs.map((log) => writeLog(log)).join(",")}]`,
  });
}

function writeEdited({ event, campaign }: EditedEventLog): string {
  return withMember(event ? writeWithLogs(event) : "{}", {
    campaign: campaign ? writeLink(campaign) : "null",
  });
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
