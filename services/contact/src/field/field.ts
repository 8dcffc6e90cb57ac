import { create } from "@bufbuild/protobuf";
import {
  type BatchFieldsResponse,
  type CompanyFieldService,
  type ContactFieldService,
  type Field,
  FieldSchema,
  type UpdateFieldRequest,
} from "@tidings/proto/tidings/contact/v1/field";
import { ConditionSchema, type ListQuery, ListQuerySchema } from "@tidings/proto/tidings/type/v1/list";
import type { Call } from "@tidings/rpc/call";
import type { Handlers } from "@tidings/rpc/definition";
import { denied, type Fault, invalid, notFound } from "@tidings/rpc/fault";
import { itemStatus } from "@tidings/rpc/fault-status";
import { type Database, prepared, violatedConstraint } from "@tidings/store/database";
import type { Outbox } from "@tidings/store/outbox";
import { type BatchResult, repository, type Update } from "@tidings/store/repository";
import { columnCommand, type SearchCommand } from "@tidings/store/search";
import { sql } from "kysely";
import { freeAlias, isReservedAlias } from "./alias.ts";
import { type FieldCatalogues, type FieldObject, SHIPPED_ID_MAX } from "./catalogue.ts";
import { checkDefinition } from "./definition.ts";

interface FieldContext {
  database: Database;
  outbox: Outbox;
  catalogues: FieldCatalogues;
}

type FieldHandlers = Handlers<typeof ContactFieldService> & Handlers<typeof CompanyFieldService>;

const ATTEMPTS = 10;

const STATES = new Map([
  ["unique", sql`is_unique_identifier`],
  // One index serves every field that was added, whichever they are (ADR 0014).
  ["indexed", sql`(is_unique_identifier or id > ${SHIPPED_ID_MAX}::integer)`],
]);

const COMMANDS = new Map<string, SearchCommand>([
  ["is", (term) => STATES.get(term.text)],
  ["type", columnCommand(sql.ref("type"))],
  ["group", columnCommand(sql.ref("group"))],
]);

/**
 * The fields of contacts, or of companies: those of the other object do not exist here. What is written is in use when
 * it is answered: this replica knows it then, the others ask for it (see catalogue.ts).
 */
export function fieldHandlers(context: FieldContext, object: FieldObject): FieldHandlers {
  const { database, outbox, catalogues } = context;
  const fields = repository<Field>(database, outbox, FieldSchema, {
    table: "fields",
    events: "tidings.contact.field",
    search: ["label", "alias"],
    order: [{ column: "order", descending: false }],
    commands: COMMANDS,
    prepare: (draft, { before }) => checkDefinition(draft, before, object),
  });

  const written = async <T>(work: Promise<T>): Promise<T> => {
    const result = await work;
    await catalogues.latest();
    return result;
  };

  /** Those of the ids that are fields of this object. An object never changes, so nothing can come in between. */
  const own = async (ids: number[], call: Call): Promise<Map<number, Field>> => {
    const { items } = await fields.list(create(ListQuerySchema, { ids }), call);
    return new Map(items.filter((field) => field.object === object).map((field) => [field.id, field]));
  };

  const createFields = async (messages: (Field | undefined)[], call: Call): Promise<BatchResult<Field>> => {
    const problem = messages.map((message) => reservedAlias(message));
    const named = await withAliases(database, messages, call);
    const usable = named.filter((_message, index) => !problem[index]);
    const { items, statuses } = await fields.batchCreate(usable, call);
    const made = items.map((item, index) => ({ item, status: statuses[index] })).values();
    const outcomes = problem.map((fault) =>
      fault ? { item: create(FieldSchema), status: itemStatus({ fault }) } : made.next().value,
    );
    return {
      items: outcomes.map((outcome) => outcome?.item ?? create(FieldSchema)),
      statuses: outcomes.flatMap((outcome) => outcome?.status ?? []),
    };
  };

  const createField = async (message: Field | undefined, call: Call) => {
    const fault = reservedAlias(message);
    if (fault) throw fault;
    for (let attempt = 1; ; attempt += 1) {
      // Those who clashed must not all try the next number together.
      const firstSuffix = attempt === 1 ? 1 : 1 + Math.floor(Math.random() * 2 ** (attempt + 2));
      const [named] = await withAliases(database, [message], call, firstSuffix);
      try {
        return await fields.create(named, call);
      } catch (error) {
        // Somebody else took the alias a moment before us: there is always another one.
        if (violatedConstraint(error) !== "fields_alias_key" || attempt === ATTEMPTS) throw error;
      }
    }
  };

  const updateField = async (request: UpdateFieldRequest, call: Call) => {
    const update = updateOf(request);
    const isOwn = (await own([update.id], call)).has(update.id);
    if (isOwn) return fields.update(update, call);
    if (!update.allowMissing) throw notFound();
    return createField(update.message, call);
  };

  return {
    async getField({ id }, call) {
      const field = (await own([id], call)).get(id);
      if (!field) throw notFound();
      return field;
    },
    async listFields({ query }, call) {
      const { items, totalSize, ids } = await fields.list(ofObject(query, object), call);
      return { fields: items, totalSize, ids };
    },
    async createField({ field }, call) {
      const { item, created } = await written(createField(field, call));
      return { field: item, created };
    },
    async updateField(request, call) {
      const { item, created } = await written(updateField(request, call));
      return { field: item, created };
    },
    async deleteField({ id }, call) {
      const field = (await own([id], call)).get(id);
      if (!field) throw notFound();
      if (field.isFixed) throw denied();
      return written(fields.delete(id, call));
    },
    async batchCreateFields({ requests }, call) {
      return batchOf(
        await written(
          createFields(
            requests.map(({ field }) => field),
            call,
          ),
        ),
      );
    },
    async batchUpdateFields({ requests }, call) {
      const known = await own(
        requests.map(({ id }) => id),
        call,
      );
      // Fields of the other object are missing here: id 0 is nobody's.
      const updates = requests
        .map(updateOf)
        .map((update) => (known.has(update.id) ? update : { ...update, id: 0 }));
      const missing = updates.filter(({ id, allowMissing }) => id === 0 && allowMissing);
      const named = await withAliases(
        database,
        missing.map(({ message }) => message),
        call,
      );
      missing.forEach((update, index) => {
        update.message = named[index];
      });
      return batchOf(await written(fields.batchUpdate(updates, call)));
    },
    async batchDeleteFields({ ids }, call) {
      const known = await own(ids, call);
      const deletable = ids.filter((id) => known.get(id)?.isFixed === false);
      const done = await written(fields.batchDelete(deletable, call));
      return batchOf(deleted(ids, known, deletable, done));
    },
  };
}

function deleted(
  ids: number[],
  known: Map<number, Field>,
  deletable: number[],
  done: BatchResult<Field>,
): BatchResult<Field> {
  const outcomes = ids.map((id) => {
    const index = deletable.indexOf(id);
    const fault = known.has(id) ? denied() : notFound();
    return index < 0
      ? { item: create(FieldSchema), status: itemStatus({ fault }) }
      : { item: done.items[index] ?? create(FieldSchema), status: done.statuses[index] };
  });
  return {
    items: outcomes.map(({ item }) => item),
    statuses: outcomes.flatMap(({ status }) => status ?? []),
  };
}

function reservedAlias(message: Field | undefined): Fault | undefined {
  if (!message?.alias || !isReservedAlias(message.alias)) return undefined;
  return invalid([{ field: "alias", message: `"${message.alias.slice(0, 50)}" is a reserved word.` }]);
}

const takenAliases = prepared("fields_aliases", "select alias from fields");

/** Gives new fields an alias that no field of either object has, nor another one of the batch. */
async function withAliases(
  database: Database,
  messages: (Field | undefined)[],
  call: Call,
  firstSuffix = 1,
): Promise<(Field | undefined)[]> {
  if (messages.length === 0) return [];
  const rows = await database.query(takenAliases, [], call.deadlineMs);
  const taken = new Set(rows.map(({ alias }) => alias));
  return messages.map((message) => {
    const field = create(FieldSchema, message);
    field.alias = freeAlias(field.alias || field.label, (alias) => taken.has(alias), firstSuffix);
    taken.add(field.alias);
    if (field.isUniqueIdentifer !== undefined) field.isUniqueIdentifier ??= field.isUniqueIdentifer;
    return field;
  });
}

function ofObject(query: ListQuery | undefined, object: FieldObject): ListQuery {
  const asked = query ?? create(ListQuerySchema);
  const condition = create(ConditionSchema, { column: "object", expr: "eq", values: [object] });
  return { ...asked, where: [...asked.where, condition] };
}

/** The misspelt name of the unique flag means the flag. */
function updateOf({ id, field, updateMask, allowMissing }: UpdateFieldRequest): Update<Field> {
  if (field?.isUniqueIdentifer === undefined) return { id, message: field, updateMask, allowMissing };
  const message = { ...field, isUniqueIdentifier: field.isUniqueIdentifer };
  updateMask?.paths.push("is_unique_identifier");
  return { id, message, updateMask, allowMissing };
}

function batchOf({ items, statuses }: BatchResult<Field>): Pick<BatchFieldsResponse, "fields" | "statuses"> {
  return { fields: items, statuses };
}
