import { type Contact, ContactMethodService, ContactSchema } from "@tidings/proto/tidings/contact/v1/contact";
import {
  type GroupScore,
  GroupScoreSchema,
  GroupScoreService,
} from "@tidings/proto/tidings/contact/v1/group_score";
import { UtmTagService } from "@tidings/proto/tidings/contact/v1/utm_tags";
import { badRequest } from "@tidings/rpc/fault";
import { type Request, Router } from "express";
import type { Clients } from "../clients.ts";
import { endpoint, needing } from "../rest/endpoint.ts";
import {
  type ApiResponse,
  BUDGET_MS,
  bodyObject,
  type Exchange,
  outgoing,
  pathId,
  requiredId,
  sendJson,
} from "../rest/exchange.ts";
import { messageWriter } from "../rest/message-json.ts";

const writeContact = messageWriter(ContactSchema);
const writeScore = messageWriter(GroupScoreSchema);
const NO_CONTACT = "Contact could not be found.";
const MEMBERS = new Set(ContactSchema.fields.map(({ jsonName }) => jsonName));

/** Routes of contacts beyond the standard operations. */
export function contactRoutes(clients: Clients): Router {
  const contacts = clients.of(ContactMethodService);
  const groupScores = clients.of(GroupScoreService);
  const utmTags = clients.of(UtmTagService);
  const router = Router({ caseSensitive: true });

  const listFields = async (_request: Request, response: ApiResponse) => {
    const { fields } = await contacts.listContactFields(
      {},
      outgoing(response.locals.exchange, BUDGET_MS.read),
    );
    sendJson(response, 200, Buffer.from(fields).toString());
  };

  const changePoints = async (request: Request, response: ApiResponse) => {
    const { exchange } = response.locals;
    const { operator, delta } = request.params;
    const change = {
      id: requiredId(request),
      operator: String(operator),
      delta: pointsOf(String(delta)),
      ...pointsNames(exchange),
    };
    await contacts.changeContactPoints(change, outgoing(exchange, BUDGET_MS.write));
    sendJson(response, 200, '{"success":true}');
  };

  const listGroupScores = async (request: Request, response: ApiResponse) => {
    const options = outgoing(response.locals.exchange, BUDGET_MS.read);
    const contactId = requiredId(request, "id", NO_CONTACT);
    const { scores, totalSize } = await groupScores.listGroupScores({ contactId }, options);
    sendJson(response, 200, `{"total":${totalSize},"groupScores":[${scores.map(scoreJson).join(",")}]}`);
  };

  const getGroupScore = async (request: Request, response: ApiResponse) => {
    const options = outgoing(response.locals.exchange, BUDGET_MS.read);
    const { score } = await groupScores.getGroupScore(scoreIds(request), options);
    sendJson(response, 200, `{"groupScore":${scoreJson(score)}}`);
  };

  const changeGroupScore = async (request: Request, response: ApiResponse) => {
    const { exchange } = response.locals;
    const operator = String(request.params.operator);
    const change = {
      ...scoreIds(request),
      operator,
      value: pointsOf(String(request.params.value), operator === "set"),
      ...pointsNames(exchange),
    };
    const { score } = await groupScores.changeGroupScore(change, outgoing(exchange, BUDGET_MS.write));
    sendJson(response, 200, `{"groupScore":${scoreJson(score)}}`);
  };

  const addDoNotContact = async (request: Request, response: ApiResponse) => {
    const { exchange } = response.locals;
    const entry = Buffer.from(JSON.stringify(bodyObject(exchange)));
    const addition = { id: requiredId(request), channel: String(request.params.channel), entry };
    const contact = await contacts.addDoNotContact(addition, outgoing(exchange, BUDGET_MS.write));
    sendContact(response, contact);
  };

  const removeDoNotContact = async (request: Request, response: ApiResponse) => {
    const removal = { id: requiredId(request), channel: String(request.params.channel) };
    const options = outgoing(response.locals.exchange, BUDGET_MS.write);
    const { found, contact } = await contacts.removeDoNotContact(removal, options);
    sendContact(response, contact, `"recordFound":${found},`);
  };

  const addUtmTags = async (request: Request, response: ApiResponse) => {
    const { exchange } = response.locals;
    const tags = Buffer.from(JSON.stringify(bodyObject(exchange)));
    const options = outgoing(exchange, BUDGET_MS.write);
    sendContact(response, await utmTags.addUtmTags({ id: requiredId(request), tags }, options));
  };

  const removeUtmTags = async (request: Request, response: ApiResponse) => {
    const removal = { id: requiredId(request), utmTagsId: pathId(request, "utmTagsId") ?? 0 };
    const options = outgoing(response.locals.exchange, BUDGET_MS.write);
    const { found, contact } = await utmTags.removeUtmTags(removal, options);
    sendContact(response, contact, `"recordFound":${found},`);
  };

  const merge = async (request: Request, response: ApiResponse) => {
    const ids = { id: requiredId(request), mergedId: requiredId(request, "mergedId") };
    const options = outgoing(response.locals.exchange, BUDGET_MS.write);
    sendContact(response, await contacts.mergeContacts(ids, options));
  };

  const listCompanies = async (request: Request, response: ApiResponse) => {
    const options = outgoing(response.locals.exchange, BUDGET_MS.read);
    const { companies, totalSize } = await contacts.listContactCompanies(
      { id: requiredId(request) },
      options,
    );
    sendJson(response, 200, `{"total":${totalSize},"companies":${Buffer.from(companies).toString()}}`);
  };

  const rpc = ContactMethodService.method;
  const groups = GroupScoreService.method;
  const utm = UtmTagService.method;
  endpoint(router, "/list/fields", { GET: listFields });
  // Before the next one, for `groups` would be taken for an operator.
  endpoint(router, "/:id/points/groups", { GET: listGroupScores });
  endpoint(router, "/:id/points/groups/:groupId", { GET: getGroupScore });
  endpoint(router, "/:id/points/groups/:groupId/:operator/:value", {
    POST: needing(groups.changeGroupScore, changeGroupScore),
  });
  endpoint(router, "/:id/points/:operator/:delta", { POST: needing(rpc.changeContactPoints, changePoints) });
  endpoint(router, "/:id/utm/add", { POST: needing(utm.addUtmTags, addUtmTags) });
  endpoint(router, "/:id/utm/:utmTagsId/remove", { POST: needing(utm.removeUtmTags, removeUtmTags) });
  endpoint(router, "/:id/merge/:mergedId", { POST: needing(rpc.mergeContacts, merge) });
  endpoint(router, "/:id/companies", { GET: listCompanies });
  // As older clients call the two below: before them, for `add` would be taken for a channel.
  endpoint(router, "/:id/dnc/add/:channel", { POST: needing(rpc.addDoNotContact, addDoNotContact) });
  endpoint(router, "/:id/dnc/remove/:channel", { POST: needing(rpc.removeDoNotContact, removeDoNotContact) });
  endpoint(router, "/:id/dnc/:channel/add", { POST: needing(rpc.addDoNotContact, addDoNotContact) });
  endpoint(router, "/:id/dnc/:channel/remove", { POST: needing(rpc.removeDoNotContact, removeDoNotContact) });
  return router;
}

/** The contact without its empty members, as these operations answer it. */
function sendContact(response: ApiResponse, contact: Contact | undefined, before = ""): void {
  if (!contact) throw new Error("the service answered no contact");
  sendJson(response, 200, `{${before}"contact":${writeContact(contact, MEMBERS)}}`);
}

function scoreIds(request: Request) {
  return {
    contactId: requiredId(request, "id", NO_CONTACT),
    groupId: requiredId(request, "groupId", "The specified point group was not found."),
  };
}

function scoreJson(score: GroupScore | undefined): string {
  return score ? writeScore(score) : "null";
}

function pointsOf(text: string, isSigned = false): number {
  const isWhole = /^-?\d{1,10}$/.test(text) && Math.abs(Number(text)) < 2 ** 31;
  if (!isWhole || (text.startsWith("-") && !isSigned)) throw badRequest("The points must be a whole number.");
  return Number(text);
}

/** The names that the log shows for a change; older clients write their members in lower case. */
function pointsNames(exchange: Exchange) {
  const { eventName, eventname = eventName, actionName, actionname = actionName } = bodyObject(exchange);
  return { eventName: labelOf(eventname), actionName: labelOf(actionname) };
}

function labelOf(value: unknown): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "object") throw badRequest("eventName and actionName must be text.");
  return String(value);
}
