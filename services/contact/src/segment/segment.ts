import {
  type BatchSegmentsResponse,
  type Segment,
  SegmentSchema,
  type SegmentService,
  type UpdateSegmentRequest,
} from "@tidings/proto/tidings/contact/v1/segment";
import type { Call } from "@tidings/rpc/call";
import type { Handlers } from "@tidings/rpc/definition";
import { Code, denied, invalid, notFound, toFault } from "@tidings/rpc/fault";
import { type BatchResult, repository, type Saved, type Update } from "@tidings/store/repository";
import { forContacts, visibleContact } from "../contact/referred.ts";
import { referringUpdate } from "../record/body.ts";
import type { BuildServices } from "./build.ts";
import { readBuild } from "./build-state.ts";
import { showCategories, withCategoryId } from "./category.ts";
import { checkSegment, readForCheck, type SegmentsAsOfNow } from "./check.ts";
import { type Definition, nameable } from "./definitions.ts";
import { FilterProblem } from "./filter.ts";
import { changeMembers, listSegmentsOfContact } from "./members.ts";
import { preview } from "./preview.ts";
import { segmentListCommands } from "./search.ts";
import { explain } from "./why.ts";

export function segmentHandlers(services: BuildServices): Handlers<typeof SegmentService> {
  const { database, outbox, catalogues, readDefinitions } = services;
  const segments = repository<Segment, SegmentsAsOfNow>(database, outbox, SegmentSchema, {
    table: "segments",
    shared: "is_global",
    freelyPublished: true,
    commands: segmentListCommands,
    events: "tidings.contact.segment",
    search: ["name", "alias"],
    order: [{ column: "name", descending: false }],
    // Whoever writes has asked for the latest fields before its transaction, where asking could wait for itself.
    load: async (transaction) => readForCheck(transaction, await catalogues.atLeast(0), readDefinitions),
    prepare: (draft, { before, call, loaded }) => checkSegment(draft, before, { now: loaded, call }),
  });

  const definitionsNow = (call: Call) =>
    readDefinitions((statement) => database.query(statement, [], call.deadlineMs));

  /** NOT_FOUND for a segment that is not there, PERMISSION_DENIED for one that is not in the caller's list. */
  const usable = async (id: number, call: Call): Promise<Definition> => {
    const definition = (await definitionsNow(call)).get(id);
    if (!definition) throw notFound();
    await segments.get(id, call).catch((error) => {
      throw toFault(error).code === Code.NOT_FOUND ? denied() : error;
    });
    return definition;
  };

  const shown = async (segment: Segment, { deadlineMs }: Call): Promise<Segment> => {
    await showCategories(database, [segment], deadlineMs);
    return segment;
  };

  const savedOf = async ({ item, created }: Saved<Segment>, call: Call) => ({
    segment: await shown(item, call),
    created,
  });

  const batchOf = async ({ items, statuses }: BatchResult<Segment>, { deadlineMs }: Call) => {
    const response: Pick<BatchSegmentsResponse, "segments" | "statuses"> = {
      segments: await showCategories(database, items, deadlineMs),
      statuses,
    };
    return response;
  };

  return {
    getSegment: async ({ id }, call) => shown(await segments.get(id, call), call),
    async listSegments({ query }, call) {
      const { items, totalSize, ids } = await segments.list(query, call);
      return { segments: await showCategories(database, items, call.deadlineMs), totalSize, ids };
    },
    async createSegment({ segment }, call) {
      await catalogues.latest();
      return savedOf(await segments.create(segment && withCategoryId(segment), call), call);
    },
    async updateSegment(request, call) {
      await catalogues.latest();
      return savedOf(await segments.update(updateOf(request), call), call);
    },
    deleteSegment: async ({ id }, call) => shown(await segments.delete(id, call), call),
    async batchCreateSegments({ requests }, call) {
      await catalogues.latest();
      const messages = requests.map(({ segment }) => segment && withCategoryId(segment));
      return batchOf(await segments.batchCreate(messages, call), call);
    },
    async batchUpdateSegments({ requests }, call) {
      await catalogues.latest();
      return batchOf(await segments.batchUpdate(requests.map(updateOf), call), call);
    },
    batchDeleteSegments: async ({ ids }, call) => batchOf(await segments.batchDelete(ids, call), call),

    async addSegmentContacts({ id, contactIds }, call) {
      const definition = await usable(id, call);
      return { contactIds: await changeMembers(services, definition, contactIds, { call, isAdded: true }) };
    },
    async removeSegmentContact({ id, contactId }, call) {
      await changeMembers(services, await usable(id, call), [contactId], { call, isAdded: false });
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

function updateOf({ id, segment, updateMask, allowMissing }: UpdateSegmentRequest): Update<Segment> {
  const update = { id, message: segment, updateMask, allowMissing };
  return referringUpdate(update, ["category", "category_id"], withCategoryId);
}

function asViolation(error: unknown): never {
  throw error instanceof FilterProblem ? invalid([{ field: "filters", message: error.message }]) : error;
}
