import {
  ContactSegmentSchema,
  type ExplainSegmentContactResponse,
  SegmentBuildSchema,
  SegmentMethodService,
} from "@tidings/proto/tidings/contact/v1/segment";
import { SegmentService } from "@tidings/proto/tidings/contact/v1/segment_service";
import { jsonBytes, parseJson } from "@tidings/resource/json-member";
import { badRequest } from "@tidings/rpc/fault";
import { messageWriter } from "../rest/message-json.ts";
import { ID_MAX } from "../rest/path-id.ts";
import { jsonAnswer, SUCCESS, textAnswer } from "../route/answer.ts";
import { objectBody } from "../route/body-form.ts";
import { entityId } from "../route/parameter.ts";
import { type Route, route } from "../route/route.ts";
import {
  arrayOf,
  byId,
  closed,
  type Schema,
  SWITCH,
  TEXT,
  TEXT_OR_NULL,
  WHOLE_NUMBER,
} from "../route/schema.ts";
import { oldMemberPath } from "./old-paths.ts";
import type { RoutesContext } from "./routes-context.ts";

const writeMembership = messageWriter(ContactSegmentSchema);
const writeBuild = messageWriter(SegmentBuildSchema);
/** More segments than anybody reads. */
const SEGMENTS_MAX = 10_000;

const WHY = closed({
  isMember: SWITCH,
  isMatched: SWITCH,
  manuallyAdded: SWITCH,
  manuallyRemoved: SWITCH,
  filters: arrayOf(closed({ filter: {}, left: {}, isMatched: SWITCH }, ["left"])),
  problem: TEXT_OR_NULL,
});
const FILTERS = {
  type: "object",
  properties: { filters: arrayOf({ type: "object" }) },
  examples: [{ filters: [] }],
};

/** Membership follows the segment's own rights: it says 403 of a segment that is there and hidden. */
const segment = entityId("segments", "view", { hidden: 403 });
const viewed = entityId("segments", "view");

/** Routes of segments beyond the standard operations. */
export function segmentRoutes(context: RoutesContext): Route[] {
  return [...questionRoutes(context), ...memberRoutes(context)];
}

function questionRoutes({ clients }: RoutesContext): Route[] {
  const segments = clients.of(SegmentMethodService);
  const rpc = SegmentMethodService.method;
  return [
    route({
      method: "POST",
      path: "/segments/preview",
      summary: "Count the contacts that filters find, with some of them",
      rpc: rpc.previewSegment,
      budget: "batch",
      isRead: true,
      body: objectBody(FILTERS),
      answer: jsonAnswer(closed({ count: WHOLE_NUMBER, contacts: arrayOf(WHOLE_NUMBER) })),
      async handle({ body, options }) {
        const filters = jsonBytes(body.filters ?? []);
        const { count, contactIds } = await segments.previewSegment({ filters }, options);
        return { count, contacts: contactIds };
      },
    }),
    route({
      method: "GET",
      path: "/segments/:id/build",
      summary: "Get how far the build of a segment is",
      rpc: rpc.getSegmentBuild,
      parameters: { id: viewed },
      answer: textAnswer((components) => components.answered(SegmentBuildSchema)),
      handle: async ({ parameters, options }) =>
        writeBuild(await segments.getSegmentBuild(parameters, options)),
    }),
    route({
      method: "GET",
      path: "/segments/:id/contact/:contactId/explain",
      summary: "Explain why a contact is in a segment or not",
      rpc: rpc.explainSegmentContact,
      parameters: { id: viewed, contactId: entityId("contacts", "view") },
      answer: jsonAnswer(WHY),
      handle: async ({ parameters, options }) =>
        writeWhy(await segments.explainSegmentContact(parameters, options)),
    }),
  ];
}

function memberRoutes({ clients, limits: { batchMax } }: RoutesContext): Route[] {
  const segments = clients.of(SegmentMethodService);
  const rpc = SegmentMethodService.method;
  const ids: Schema = {
    type: "object",
    properties: { ids: { ...arrayOf(WHOLE_NUMBER), minItems: 1, maxItems: batchMax } },
    required: ["ids"],
    examples: [{ ids: [1, 2] }],
  };
  return [
    route({
      method: "POST",
      path: "/segments/:id/contacts/add",
      summary: "Add several contacts to a segment by hand",
      rpc: rpc.addSegmentContacts,
      budget: "batch",
      parameters: { id: segment },
      body: objectBody(ids),
      answer: jsonAnswer(closed({ success: { const: true }, details: byId(closed({ success: SWITCH })) })),
      async handle({ parameters: { id }, body, options }) {
        const asked = idsIn(body.ids, batchMax);
        const known = asked.filter((id) => id > 0 && id <= ID_MAX);
        const { contactIds } = await segments.addSegmentContacts(
          { id, contactIds: [...new Set(known)] },
          options,
        );
        const added = new Set(contactIds);
        return {
          success: true,
          details: Object.fromEntries(asked.map((id) => [id, { success: added.has(id) }])),
        };
      },
    }),
    route({
      method: "POST",
      path: "/segments/:id/contact/:contactId/add",
      summary: "Add a contact to a segment by hand",
      rpc: rpc.addSegmentContacts,
      operation: "addSegmentContact",
      parameters: { id: segment, contactId: entityId("contacts", "edit") },
      answer: SUCCESS,
      aliases: oldMemberPath("segments", "add"),
      handle: ({ parameters: { id, contactId }, options }) =>
        segments.addSegmentContacts({ id, contactIds: [contactId] }, options),
    }),
    route({
      method: "POST",
      path: "/segments/:id/contact/:contactId/remove",
      summary: "Remove a contact from a segment by hand",
      rpc: rpc.removeSegmentContact,
      parameters: { id: segment, contactId: entityId("contacts", "edit") },
      answer: SUCCESS,
      aliases: oldMemberPath("segments", "remove"),
      handle: ({ parameters, options }) => segments.removeSegmentContact(parameters, options),
    }),
  ];
}

/** The segments of a contact, and all that contacts can be in. */
export function contactSegmentRoutes({ clients }: RoutesContext): Route[] {
  const methods = clients.of(SegmentMethodService);
  const segments = clients.of(SegmentService);
  return [
    route({
      method: "GET",
      path: "/contacts/list/segments",
      summary: "List the segments that contacts can be in",
      rpc: SegmentService.method.listSegments,
      operation: "listPublishedSegments",
      answer: jsonAnswer(byId(closed({ id: WHOLE_NUMBER, name: TEXT, alias: TEXT }))),
      async handle({ options }) {
        const query = { pageSize: SEGMENTS_MAX, publishedOnly: true, skipTotal: true };
        const { segments: list } = await segments.listSegments({ query }, options);
        return Object.fromEntries(list.map(({ id, name, alias }) => [id, { id, name, alias }]));
      },
    }),
    route({
      method: "GET",
      path: "/contacts/:id/segments",
      summary: "List the segments of a contact",
      rpc: SegmentMethodService.method.listContactSegments,
      parameters: { id: entityId("contacts", "view") },
      answer: textAnswer((components) => {
        const list = byId(components.answered(ContactSegmentSchema));
        return closed({ total: WHOLE_NUMBER, segments: list, lists: list });
      }),
      async handle({ parameters: { id: contactId }, options }) {
        const { segments: list } = await methods.listContactSegments({ contactId }, options);
        const entries = `{${list.map((segment) => `"${segment.id}":${writeMembership(segment)}`).join(",")}}`;
        // Documents and programs disagree on the name: both get what they look for.
        return `{"total":${list.length},"segments":${entries},"lists":${entries}}`;
      },
    }),
  ];
}

function idsIn(sent: unknown, batchMax: number): number[] {
  const ids = typeof sent === "object" && sent !== null ? Object.values(sent) : [];
  if (ids.length === 0) throw badRequest("ids must be a list of contact ids.");
  if (ids.length > batchMax) throw badRequest(`At most ${batchMax} contacts can be added at once.`);
  if (!ids.every((id) => isWholeNumber(id) || (typeof id === "string" && /^\d{1,10}$/.test(id))))
    throw badRequest("ids must be a list of contact ids.");
  return ids.map(Number);
}

function isWholeNumber(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0;
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
