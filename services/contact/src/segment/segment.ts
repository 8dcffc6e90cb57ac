import { FilterProblem } from "@tidings/filters/filter";
import { thingsNamedInFilters } from "@tidings/filters/named-things";
import {
  type Segment,
  type SegmentMethodService,
  SegmentSchema,
} from "@tidings/proto/tidings/contact/v1/segment";
import { SegmentService } from "@tidings/proto/tidings/contact/v1/segment_service";
import { jsonOf } from "@tidings/resource/json-member";
import { repository } from "@tidings/resource/repository";
import { standardHandlers } from "@tidings/resource/standard-handlers";
import type { Call } from "@tidings/rpc/call";
import type { Handlers } from "@tidings/rpc/definition";
import { requireExpected } from "@tidings/rpc/expected";
import { denied, invalid, notFound } from "@tidings/rpc/fault";
import { coalesce } from "@tidings/runtime/coalesce/coalesce";
import { forContacts, visibleContact } from "../contact/referred.ts";
import type { BuildServices } from "./build/build.ts";
import { followDefinitions } from "./build/build-request.ts";
import { readBuild } from "./build/build-state.ts";
import { listSegmentsOfContact, memberChanges } from "./build/members.ts";
import { checkSegment, readForCheck, type SegmentsAsOfNow } from "./definition/check.ts";
import { type Definition, isVisible, nameable } from "./definition/definitions.ts";
import { preview } from "./definition/preview.ts";
import { segmentListCommands } from "./definition/search.ts";
import { explain } from "./definition/why.ts";

export type SegmentHandlers = Handlers<typeof SegmentService> & Handlers<typeof SegmentMethodService>;

export function segmentHandlers(services: BuildServices): SegmentHandlers {
  const { database, catalogues, readDefinitions } = services;
  const segments = segmentRepository(services);
  const changeMembers = memberChanges(services);

  const readCoalesced = coalesce(async (deadlinesMs: number[]) =>
    readDefinitions((statement) => database.query(statement, [], Math.max(...deadlinesMs))),
  );
  const definitionsNow = (call: Call) => readCoalesced("definitions", call.deadlineMs);

  /** NOT_FOUND for a segment that is not there, PERMISSION_DENIED for one that is not in the caller's list. */
  const usable = async (id: number, call: Call): Promise<Definition> => {
    const definition = (await definitionsNow(call)).get(id);
    if (!definition) throw notFound();
    if (!isVisible(definition, call)) throw denied();
    requireExpected(call, SegmentSchema.typeName, { id, version: definition.version });
    return definition;
  };

  return {
    ...standardHandlers(SegmentService, segments),

    async addSegmentContacts({ id, contactIds }, call) {
      const definition = await usable(id, call);
      return { contactIds: await changeMembers(definition, contactIds, { call, isAdded: true }) };
    },
    async removeSegmentContact({ id, contactId }, call) {
      await changeMembers(await usable(id, call), [contactId], { call, isAdded: false });
      return {};
    },
    listContactSegments: async ({ contactId }, call) => ({
      segments: await listSegmentsOfContact(database, contactId, call),
    }),
    async previewSegment({ filters }, call) {
      const catalogue = await catalogues.latest();
      const definitions = await definitionsNow(call);
      const scope = { catalogue, definitions, call: forContacts(call), mayName: nameable(definitions, call) };
      return preview(database, filters, scope).catch(asViolation);
    },
    async explainSegmentContact({ id, contactId }, call) {
      await segments.get(id, call);
      const visibleId = await visibleContact(database, contactId, call);
      const catalogue = await catalogues.latest();
      const definitions = await definitionsNow(call);
      const definition = definitions.get(id);
      if (!definition) throw notFound();
      const mayName = nameable(definitions, call);
      const question = { catalogue, contactId: visibleId, mayName, deadlineMs: call.deadlineMs };
      return explain(database, definition, definitions, question);
    },
    async getSegmentBuild({ id }, call) {
      await segments.get(id, call);
      return readBuild(database, id, call.deadlineMs);
    },
  };
}

function segmentRepository(services: BuildServices) {
  const { catalogues, readDefinitions } = services;
  return repository<Segment, SegmentsAsOfNow>(services, SegmentSchema, {
    shared: "is_global",
    freelyPublished: true,
    commands: segmentListCommands,
    // Asked before the transaction, where asking could wait for itself.
    before: () => catalogues.latest(),
    load: async (transaction) => readForCheck(transaction, await catalogues.atLeast(0), readDefinitions),
    changed: followDefinitions,
    prepare: (draft, { before, call, loaded }) => checkSegment(draft, before, { now: loaded, call }),
    // Other segments are looked up in the transaction: the same batch may have changed them.
    needs: ({ filters }) =>
      thingsNamedInFilters(jsonOf(filters), "filters").filter(({ schema }) => schema !== SegmentSchema),
    async show(items) {
      if (services.showsFiltersAsSent)
        for (const item of items) item.filters = item.sentFilters ?? item.filters;
    },
  });
}

function asViolation(error: unknown): never {
  throw error instanceof FilterProblem ? invalid([{ field: "filters", message: error.message }]) : error;
}
