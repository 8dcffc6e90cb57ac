import {
  ContactSegmentSchema,
  type ExplainSegmentContactResponse,
  SegmentBuildSchema,
  SegmentMethodService,
} from "@tidings/proto/tidings/contact/v1/segment";
import { SegmentService } from "@tidings/proto/tidings/contact/v1/segment_service";
import { parseJson } from "@tidings/resource/json-member";
import type { RpcClient } from "@tidings/rpc/client";
import { badRequest } from "@tidings/rpc/fault";
import { type Request, Router } from "express";
import type { Clients } from "../clients.ts";
import { endpoint, needing } from "../rest/endpoint.ts";
import { type ApiResponse, BUDGET_MS, bodyObject, outgoing, requiredId, sendJson } from "../rest/exchange.ts";
import { messageWriter } from "../rest/message-json.ts";

type Segments = RpcClient<typeof SegmentMethodService>;

const writeMembership = messageWriter(ContactSegmentSchema);
const writeBuild = messageWriter(SegmentBuildSchema);
/** More segments than anybody reads. */
const SEGMENTS_MAX = 10_000;
const CONTACTS_MAX = 2 ** 31;

/** Routes of segments beyond the standard operations. */
export function segmentRoutes(segments: Segments, batchMax: number): Router {
  const router = Router({ caseSensitive: true });

  const add = async (request: Request, response: ApiResponse) => {
    const contactIds = [requiredId(request, "contactId")];
    const options = outgoing(response.locals.exchange, BUDGET_MS.write);
    await segments.addSegmentContacts({ id: requiredId(request), contactIds }, options);
    sendJson(response, 200, '{"success":true}');
  };

  const remove = async (request: Request, response: ApiResponse) => {
    const removal = { id: requiredId(request), contactId: requiredId(request, "contactId") };
    await segments.removeSegmentContact(removal, outgoing(response.locals.exchange, BUDGET_MS.write));
    sendJson(response, 200, '{"success":true}');
  };

  const addMany = async (request: Request, response: ApiResponse) => {
    const { exchange } = response.locals;
    const asked = idsIn(bodyObject(exchange).ids, batchMax);
    const known = asked.filter((id) => Number.isInteger(id) && id > 0 && id < CONTACTS_MAX);
    const addition = { id: requiredId(request), contactIds: [...new Set(known)] };
    const { contactIds } = await segments.addSegmentContacts(addition, outgoing(exchange, BUDGET_MS.batch));
    const added = new Set(contactIds);
    const details = Object.fromEntries(asked.map((id) => [id, { success: added.has(id) }]));
    sendJson(response, 200, JSON.stringify({ success: true, details }));
  };

  const preview = async (_request: Request, response: ApiResponse) => {
    const { exchange } = response.locals;
    const filters = Buffer.from(JSON.stringify(bodyObject(exchange).filters ?? []));
    const options = outgoing(exchange, BUDGET_MS.batch);
    const { count, contactIds } = await segments.previewSegment({ filters }, options);
    sendJson(response, 200, JSON.stringify({ count, contacts: contactIds }));
  };

  const explain = async (request: Request, response: ApiResponse) => {
    const question = { id: requiredId(request), contactId: requiredId(request, "contactId") };
    const options = outgoing(response.locals.exchange, BUDGET_MS.read);
    sendJson(
      response,
      200,
      JSON.stringify(writeWhy(await segments.explainSegmentContact(question, options))),
    );
  };

  const build = async (request: Request, response: ApiResponse) => {
    const options = outgoing(response.locals.exchange, BUDGET_MS.read);
    sendJson(response, 200, writeBuild(await segments.getSegmentBuild({ id: requiredId(request) }, options)));
  };

  const rpc = SegmentMethodService.method;
  endpoint(router, "/preview", { POST: needing(rpc.previewSegment, preview) });
  endpoint(router, "/:id/build", { GET: build });
  endpoint(router, "/:id/contacts/add", { POST: needing(rpc.addSegmentContacts, addMany) });
  endpoint(router, "/:id/contact/:contactId/explain", { GET: explain });
  endpoint(router, "/:id/contact/:contactId/add", { POST: needing(rpc.addSegmentContacts, add) });
  endpoint(router, "/:id/contact/:contactId/remove", { POST: needing(rpc.removeSegmentContact, remove) });
  // As older clients call them.
  endpoint(router, "/:id/contact/add/:contactId", { POST: needing(rpc.addSegmentContacts, add) });
  endpoint(router, "/:id/contact/remove/:contactId", { POST: needing(rpc.removeSegmentContact, remove) });
  return router;
}

/** The segments of a contact, and all that contacts can be in. */
export function contactSegmentRoutes(clients: Clients): Router {
  const methods = clients.of(SegmentMethodService);
  const segments = clients.of(SegmentService);
  const router = Router({ caseSensitive: true });

  const listOfContact = async (request: Request, response: ApiResponse) => {
    const options = outgoing(response.locals.exchange, BUDGET_MS.read);
    const { segments: list } = await methods.listContactSegments({ contactId: requiredId(request) }, options);
    const byId = `{${list.map((segment) => `"${segment.id}":${writeMembership(segment)}`).join(",")}}`;
    // Documents and programs disagree on the name: both get what they look for.
    sendJson(response, 200, `{"total":${list.length},"segments":${byId},"lists":${byId}}`);
  };

  const listAll = async (_request: Request, response: ApiResponse) => {
    const query = { pageSize: SEGMENTS_MAX, publishedOnly: true, skipTotal: true };
    const options = outgoing(response.locals.exchange, BUDGET_MS.read);
    const { segments: list } = await segments.listSegments({ query }, options);
    const byId = Object.fromEntries(list.map(({ id, name, alias }) => [id, { id, name, alias }]));
    sendJson(response, 200, JSON.stringify(byId));
  };

  endpoint(router, "/list/segments", { GET: listAll });
  endpoint(router, "/:id/segments", { GET: listOfContact });
  return router;
}

function idsIn(sent: unknown, batchMax: number): number[] {
  const ids = typeof sent === "object" && sent !== null ? Object.values(sent) : [];
  if (ids.length === 0) throw badRequest("ids must be a list of contact ids.");
  if (ids.length > batchMax) throw badRequest(`At most ${batchMax} contacts can be added at once.`);
  if (!ids.every((id) => typeof id === "number" || (typeof id === "string" && /^\d{1,10}$/.test(id))))
    throw badRequest("ids must be a list of contact ids.");
  return ids.map(Number);
}

function writeWhy(why: ExplainSegmentContactResponse) {
  const { isMember, isMatched, manuallyAdded, manuallyRemoved, filters, problem = null } = why;
  const parsed = filters.map(({ filter, left, isMatched: matches }) => ({
    filter: parseJson(filter),
    left: parseJson(left),
    isMatched: matches,
  }));
  return { isMember, isMatched, manuallyAdded, manuallyRemoved, filters: parsed, problem };
}
