import { create } from "@bufbuild/protobuf";
import { type FieldObject, SHIPPED_ID_MAX } from "@tidings/contacts/shown-field";
import { type Database, prepared } from "@tidings/database/database";
import { violatedConstraint } from "@tidings/database/failure";
import { type Field, FieldSchema } from "@tidings/proto/tidings/contact/v1/field";
import { ConditionSchema, type ListQuery, ListQuerySchema } from "@tidings/proto/tidings/type/v1/list";
import { batchWithin } from "@tidings/resource/batch-within";
import { repository } from "@tidings/resource/repository";
import type { BatchResult, Repository, Update } from "@tidings/resource/repository-options";
import { columnCommand, type SearchCommand } from "@tidings/resource/search";
import type { Call } from "@tidings/rpc/call";
import { requireExpected } from "@tidings/rpc/expected";
import { denied, type Fault, invalid, notFound } from "@tidings/rpc/fault";
import { sql } from "kysely";
import { fieldAlias, isReservedAlias } from "./alias.ts";
import type { FieldContext } from "./catalogue.ts";
import { checkDefinition } from "./definition.ts";
import { planUpkeep } from "./upkeep.ts";

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
export function fieldsOf(context: FieldContext, object: FieldObject): Repository<Field> {
  const { database, catalogues } = context;
  const fields = repository<Field>(context, FieldSchema, {
    commands: COMMANDS,
    changed: planUpkeep,
    prepare: (draft, { before }) => checkDefinition(draft, before, object),
  });

  const written = async <T>(work: Promise<T>): Promise<T> => {
    const result = await work;
    await catalogues.latest();
    return result;
  };

  /** The ids that are fields of this object. The object of a field never changes, so nothing can come in between. */
  const own = async (ids: number[], call: Call): Promise<Map<number, Field>> => {
    const { items } = await fields.list(create(ListQuerySchema, { ids }), call);
    return new Map(items.filter((field) => field.object === object).map((field) => [field.id, field]));
  };

  return {
    async get(id, call) {
      const field = await fields.get(id, call);
      if (field.object !== object) throw notFound();
      return field;
    },
    list: (query, call) => fields.list(ofObject(query, object), call),
    create: (message, call) => written(createField(fields, database, message, call)),
    async update(sent, call) {
      const update = spelt(sent);
      if ((await own([update.id], call)).has(update.id)) return written(fields.update(update, call));
      if (!update.allowMissing) throw notFound();
      requireExpected(call, FieldSchema.typeName, { id: update.id, version: undefined });
      return written(createField(fields, database, update.message, call));
    },
    async delete(id, call) {
      const fault = undeletable((await own([id], call)).get(id));
      if (fault) throw fault;
      return written(fields.delete(id, call));
    },
    batchCreate: (messages, call) => written(createFields(fields, database, messages, call)),
    async batchUpdate(sent, call) {
      const ids = sent.map(({ id }) => id);
      const known = await own(ids, call);
      // Fields of the other object are missing here: id 0 is nobody's.
      const updates = sent.map(spelt).map((update) => (known.has(update.id) ? update : { ...update, id: 0 }));
      await nameNew(database, updates, call);
      return written(fields.batchUpdate(updates, call));
    },
    async batchDelete(ids, call) {
      const known = await own(ids, call);
      const faults = ids.map((id) => undeletable(known.get(id)));
      return written(batchWithin(ids, faults, empty, (deletable) => fields.batchDelete(deletable, call)));
    },
  };
}

async function createFields(
  fields: Repository<Field>,
  database: Database,
  messages: (Field | undefined)[],
  call: Call,
): Promise<BatchResult<Field>> {
  const faults = messages.map((message) => reservedAlias(message));
  const named = await withAliases(database, messages, call);
  return batchWithin(named, faults, empty, (usable) => fields.batchCreate(usable, call));
}

async function createField(
  fields: Repository<Field>,
  database: Database,
  message: Field | undefined,
  call: Call,
) {
  const fault = reservedAlias(message);
  if (fault) throw fault;
  for (let attempt = 1; ; attempt += 1) {
    // Transactions that clashed must not all try the next number together.
    const firstSuffix = attempt === 1 ? 1 : 1 + Math.floor(Math.random() * 2 ** (attempt + 2));
    const [named] = await withAliases(database, [message], call, firstSuffix);
    try {
      return await fields.create(named, call);
    } catch (error) {
      // Somebody else took the alias a moment before us: there is always another one.
      if (violatedConstraint(error) !== "fields_alias_key" || attempt === ATTEMPTS) throw error;
    }
  }
}

function undeletable(field: Field | undefined): Fault | undefined {
  if (!field) return notFound();
  return field.isFixed ? denied() : undefined;
}

function empty(): Field {
  return create(FieldSchema);
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
    field.alias = fieldAlias(field.alias || field.label, (alias) => taken.has(alias), firstSuffix);
    taken.add(field.alias);
    if (field.isUniqueIdentifer !== undefined) field.isUniqueIdentifier ??= field.isUniqueIdentifer;
    return field;
  });
}

/** Gives the fields that a batch of edits makes their aliases. */
async function nameNew(database: Database, updates: Update<Field>[], call: Call): Promise<void> {
  const missing = updates.filter(({ id, allowMissing }) => id === 0 && allowMissing);
  const messages = missing.map(({ message }) => message);
  const named = await withAliases(database, messages, call);
  missing.forEach((update, index) => {
    update.message = named[index];
  });
}

function ofObject(query: ListQuery | undefined, object: FieldObject): ListQuery {
  const asked = query ?? create(ListQuerySchema);
  const condition = create(ConditionSchema, { column: "object", expr: "eq", values: [object] });
  return { ...asked, where: [...asked.where, condition] };
}

/** The misspelt name of the unique flag means the flag. */
function spelt(update: Update<Field>): Update<Field> {
  const { message, updateMask } = update;
  if (message?.isUniqueIdentifer === undefined) return update;
  updateMask?.paths.push("is_unique_identifier");
  return { ...update, message: { ...message, isUniqueIdentifier: message.isUniqueIdentifer } };
}
