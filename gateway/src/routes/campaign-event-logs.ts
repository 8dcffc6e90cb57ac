import {
  CampaignMethodService,
  type ContactLog,
  type EditedEventLog,
  type EventLogEdit,
  EventLogEditSchema,
  EventLogSchema,
} from "@tidings/proto/tidings/campaign/v1/campaign";
import type { RpcClient } from "@tidings/rpc/client";
import { badRequest, Fault } from "@tidings/rpc/fault";
import { statusToFault } from "@tidings/rpc/fault-status";
import { errorEntry } from "../rest/error.ts";
import { sendJson } from "../rest/exchange.ts";
import { type Body, bodyDecoder } from "../rest/message-input.ts";
import { type Answer, listAnswer, listQuery, textAnswer } from "../route/answer.ts";
import { batchError } from "../route/batch-routes.ts";
import { batchBody, messageBody } from "../route/body-form.ts";
import { entityId, id } from "../route/parameter.ts";
import { type Route, route } from "../route/route.ts";
import { byId, closed } from "../route/schema.ts";
import { describeContactLog, describeEdited, writeContactLog, writeEdited } from "./campaign-event-json.ts";
import type { RoutesContext } from "./routes-context.ts";

const decodeEdit = bodyDecoder(EventLogEditSchema);
/** The most log entries of one page. */
const LOGS_PAGE_MAX = 500;
const EVENTS = { many: "events", shape: "array", total: "int" } as const;
const NO_CONTACT = "Contact not found.";

/** Routes of the log of a campaign's events: what became of each for a contact. */
export function eventLogRoutes({ clients, limits }: RoutesContext): Route[] {
  const campaigns = clients.of(CampaignMethodService);
  const limitMax = Math.min(limits.limitMax, LOGS_PAGE_MAX);
  return [
    route({
      method: "GET",
      path: "/campaigns/events/contact/:contactId",
      summary: "List what became of the events of all campaigns for a contact",
      rpc: CampaignMethodService.method.listContactEvents,
      parameters: { contactId: entityId("contacts", "view", { missing: NO_CONTACT }) },
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
    ...editRoutes(campaigns, limits.batchMax),
  ];
}

/** Routes that change when events are due. */
function editRoutes(campaigns: RpcClient<typeof CampaignMethodService>, batchMax: number): Route[] {
  const rpc = CampaignMethodService.method;
  return [
    route({
      method: "PUT",
      path: "/campaigns/events/:eventId/contact/:contactId/edit",
      summary: "Change when an event of a campaign is due for a contact",
      rpc: rpc.editEventLogs,
      operation: "editEventLog",
      parameters: { eventId: id("Id of an event"), contactId: id("Id of a contact", NO_CONTACT) },
      body: messageBody(EventLogEditSchema, DUE_LATER),
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
        maxItems: batchMax,
        items: components.sent(EventLogEditSchema),
        examples: [[{ eventId: 1, contactId: 1, ...DUE_LATER }]],
      })),
      answer: textAnswer((components) =>
        closed({ events: byId(describeEdited(components)), errors: byId(batchError(components)) }, [
          "errors",
        ]),
      ),
      async handle({ body, options }) {
        const decoded = decodeAll(body, batchMax);
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

const DUE_LATER = { triggerDate: "2030-05-01T10:00:00+00:00" };
const EDITED: Answer<EditedEventLog> = {
  statuses: [200, 201],
  describe: (components) => closed({ event: describeEdited(components) }),
  send: (response, edited) =>
    sendJson(response, edited.status?.created ? 201 : 200, `{"event":${writeEdited(edited)}}`),
};

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
