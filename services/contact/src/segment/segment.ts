import { create } from "@bufbuild/protobuf";
import { Verb } from "@tidings/proto/tidings/api/v1/options";
import {
  type BatchSegmentsResponse,
  ContactSegmentSchema,
  type Segment,
  SegmentBuildSchema,
  SegmentSchema,
  type SegmentService,
  type UpdateSegmentRequest,
} from "@tidings/proto/tidings/contact/v1/segment";
import type { Call } from "@tidings/rpc/call";
import type { Handlers } from "@tidings/rpc/definition";
import { Code, denied, invalid, notFound, toFault } from "@tidings/rpc/fault";
import { reach } from "@tidings/rpc/permission";
import { type Database, prepared, type Row } from "@tidings/store/database";
import type { Outbox } from "@tidings/store/outbox";
import { type BatchResult, repository, type Update } from "@tidings/store/repository";
import { timestampFromText } from "@tidings/store/timestamp";
import { readContacts } from "../contact/referred.ts";
import type { FieldCatalogues } from "../field/catalogue.ts";
import { readReference } from "../record/body.ts";
import { mayReach } from "../record/reach.ts";
import { checkSegment, NO_CATEGORY, readForCheck, type SegmentsAsOfNow } from "./check.ts";
import type { Definition, DefinitionReader } from "./definitions.ts";
import { membershipEvents } from "./events.ts";
import { FilterProblem } from "./filter.ts";
import { followChanges } from "./follow.ts";
import { changeByHand } from "./membership.ts";
import { handRead, MEMBERSHIP } from "./predicate.ts";
import { preview } from "./preview.ts";
import { segmentListCommands } from "./search.ts";
import { takeTurn } from "./turn.ts";
import { explain } from "./why.ts";

export interface SegmentContext {
  database: Database;
  outbox: Outbox;
  catalogues: FieldCatalogues;
  readDefinitions: DefinitionReader;
}

const ofContactStatement = prepared(
  "segments_of_contact",
  `select s.id, s.name, s.alias, s.is_global, s.created_by, m.date_added, m.manually_added, m.manually_removed
   from segment_contacts m join segments s on s.id = m.segment_id
   where m.contact_id = $1 and not m.manually_removed order by s.name, s.id limit 10000`,
);
const buildStatement = prepared("segment_builds_get", "select * from segment_builds where segment_id = $1");
const categoriesStatement = prepared(
  "segment_categories",
  `select id, json_build_object('createdByUser', null, 'modifiedByUser', null, 'id', id, 'title', title, 'alias', alias,
     'description', description, 'color', color, 'bundle', bundle) as json
   from categories where id = any($1::integer[])`,
);

export function segmentHandlers(context: SegmentContext): Handlers<typeof SegmentService> {
  const { database, outbox, catalogues, readDefinitions } = context;
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
    prepare: (draft, { before, loaded }) => checkSegment(draft, before, loaded),
  });

  const definitionsNow = (call: Call) =>
    readDefinitions((statement) => database.query(statement, [], call.deadlineMs));

  const definitionOf = async (id: number, call: Call): Promise<Definition> => {
    const definition = (await definitionsNow(call)).get(id);
    if (!definition) throw notFound();
    return definition;
  };

  const withCategories = async (items: Segment[], call: Call): Promise<Segment[]> => {
    const ids = items.flatMap(({ categoryId }) => categoryId ?? []);
    if (ids.length === 0) return items;
    const rows = await database.query(categoriesStatement, [ids], call.deadlineMs);
    const byId = new Map(rows.map(({ id, json }) => [Number(id), Buffer.from(json ?? "null")]));
    for (const item of items) item.category = byId.get(item.categoryId ?? 0) ?? new Uint8Array();
    return items;
  };

  const batchOf = async ({ items, statuses }: BatchResult<Segment>, call: Call) =>
    ({ segments: await withCategories(items, call), statuses }) satisfies Partial<BatchSegmentsResponse>;

  const saved = async ({ item, created }: { item: Segment; created: boolean }, call: Call) => {
    await withCategories([item], call);
    return { segment: item, created };
  };

  /** The contacts that the caller may change; those that were merged are the ones they became part of. */
  const changeable = async (ids: number[], call: Call, verb: Verb): Promise<Map<number, Row>> => {
    const contacts = await readContacts((...query) => database.query(...query, call.deadlineMs), ids);
    const contactCall = forContacts(call);
    const visible = [...contacts].filter(([, row]) => mayReach(contactCall, Verb.VIEW, row, "owner_id"));
    if (ids.length === 1 && visible.length === 0) throw notFound("Contact not found.");
    const reached = visible.filter(([, row]) => mayReach(contactCall, verb, row, "owner_id"));
    if (ids.length === 1 && reached.length === 0) throw denied();
    return new Map(reached);
  };

  const changeMembers = async (id: number, contactIds: number[], call: Call, isAdded: boolean) => {
    const definition = await definitionOf(id, call);
    // It is there, but not in the caller's list.
    await segments.get(id, call).catch((error) => {
      throw toFault(error).code === Code.NOT_FOUND ? denied() : error;
    });
    const contacts = await changeable(contactIds, call, Verb.EDIT);
    const ids = [...new Set([...contacts.values()].map((row) => Number(row.id)))];
    const catalogue = await catalogues.current();
    await database.transaction(call.deadlineMs, async (transaction) => {
      // First of all: whoever has the turn may want the same rows.
      takeTurn(transaction);
      const changes = await changeByHand(transaction, id, ids, isAdded);
      outbox.append(
        transaction,
        membershipEvents(changes, () => definition),
      );
      const changed = [handRead(id), MEMBERSHIP];
      await followChanges(
        context,
        transaction,
        catalogue,
        changes.map(({ contactId }) => ({ contactId, changed })),
      );
    });
    return [...contacts.keys()];
  };

  return {
    async getSegment({ id }, call) {
      const [segment] = await withCategories([await segments.get(id, call)], call);
      return segment ?? create(SegmentSchema);
    },
    async listSegments({ query }, call) {
      const { items, totalSize, ids } = await segments.list(query, call);
      return { segments: await withCategories(items, call), totalSize, ids };
    },
    async createSegment({ segment }, call) {
      await catalogues.latest();
      return saved(await segments.create(withCategoryId(segment), call), call);
    },
    async updateSegment(request, call) {
      await catalogues.latest();
      return saved(await segments.update(updateOf(request), call), call);
    },
    async deleteSegment({ id }, call) {
      const [segment] = await withCategories([await segments.delete(id, call)], call);
      return segment ?? create(SegmentSchema);
    },
    async batchCreateSegments({ requests }, call) {
      await catalogues.latest();
      const messages = requests.map(({ segment }) => withCategoryId(segment));
      return batchOf(await segments.batchCreate(messages, call), call);
    },
    async batchUpdateSegments({ requests }, call) {
      await catalogues.latest();
      return batchOf(await segments.batchUpdate(requests.map(updateOf), call), call);
    },
    batchDeleteSegments: async ({ ids }, call) => batchOf(await segments.batchDelete(ids, call), call),

    addSegmentContacts: async ({ id, contactIds }, call) => ({
      contactIds: await changeMembers(id, contactIds, call, true),
    }),
    async removeSegmentContact({ id, contactId }, call) {
      await changeMembers(id, [contactId], call, false);
      return {};
    },
    async listContactSegments({ contactId }, call) {
      const contact = (await changeable([contactId], call, Verb.VIEW)).get(contactId);
      const rows = await database.query(ofContactStatement, [contact?.id], call.deadlineMs);
      const isVisible = (row: Row) => row.is_global === "t" || mayReach(call, Verb.VIEW, row, "created_by");
      return { segments: rows.filter(isVisible).map(toContactSegment) };
    },
    async previewSegment({ filters }, call) {
      const catalogue = await catalogues.latest();
      const definitions = await definitionsNow(call);
      return preview(database, filters, { catalogue, definitions, call: forContacts(call) }).catch(
        asViolation,
      );
    },
    async explainSegmentContact({ id, contactId }, call) {
      await segments.get(id, call);
      const contact = (await changeable([contactId], call, Verb.VIEW)).get(contactId);
      const catalogue = await catalogues.latest();
      const definitions = await definitionsNow(call);
      const definition = await definitionOf(id, call);
      const { deadlineMs } = call;
      return explain(database, definition, definitions, {
        catalogue,
        contactId: Number(contact?.id),
        deadlineMs,
      });
    },
    async getSegmentBuild({ id }, call) {
      await segments.get(id, call);
      const [row] = await database.query(buildStatement, [id], call.deadlineMs);
      if (!row) throw notFound();
      return toBuild(row);
    },
  };
}

/** The same caller, as far as contacts go. */
function forContacts(call: Call): Call {
  return { ...call, reach: (verb) => reach(call.actor, "lead:leads", verb) };
}

function asViolation(error: unknown): never {
  throw error instanceof FilterProblem ? invalid([{ field: "filters", message: error.message }]) : error;
}

/** The category is kept by its id. */
function withCategoryId(message: Segment | undefined): Segment | undefined {
  if (!message || message.category.length === 0) return message;
  const id = readReference("category", message.category, []);
  const segment = create(SegmentSchema, message);
  if (id !== null) segment.categoryId = id ?? NO_CATEGORY;
  return segment;
}

function updateOf({ id, segment, updateMask, allowMissing }: UpdateSegmentRequest): Update<Segment> {
  const paths = updateMask?.paths.map((path) => (path === "category" ? "category_id" : path));
  return {
    id,
    message: withCategoryId(segment),
    updateMask: updateMask && paths ? { ...updateMask, paths } : undefined,
    allowMissing,
  };
}

function toContactSegment({ id, name, alias, date_added, manually_added, manually_removed }: Row) {
  return create(ContactSegmentSchema, {
    id: Number(id),
    name: name ?? "",
    alias: alias ?? "",
    ...(date_added && { dateAdded: timestampFromText(date_added) }),
    manuallyAdded: manually_added === "t",
    manuallyRemoved: manually_removed === "t",
  });
}

function toBuild(row: Row) {
  const { requested_at, started_at, position, last_id, added, removed, built_at, seconds, problem } = row;
  const isBusy = requested_at !== null;
  const state = isBusy ? (started_at ? "running" : "waiting") : problem ? "failed" : "done";
  return create(SegmentBuildSchema, {
    state,
    progress: isBusy ? Math.min(Number(position) / Math.max(Number(last_id), 1), 1) : 1,
    added: Number(added),
    removed: Number(removed),
    ...(built_at && { lastBuiltDate: timestampFromText(built_at) }),
    ...(seconds && { lastBuiltSeconds: Number(seconds) }),
    ...(problem && { problem }),
  });
}
