import { create, type DescMessage } from "@bufbuild/protobuf";
import { ConditionSchema, type ListQuery, ListQuerySchema } from "@tidings/proto/tidings/type/v1/list";
import type { Call } from "@tidings/rpc/call";
import type { Fault, Violation } from "@tidings/rpc/fault";
import type { Row } from "@tidings/store/database";
import { type Repository, type RepositoryOptions, repository, type Update } from "@tidings/store/repository";
import { readContacts, visibleContact } from "../contact/referred.ts";
import { referringUpdate } from "../record/body.ts";
import type { RecordContext } from "../record/save.ts";
import { assignContact, type Belonging, referredContact } from "./contact-reference.ts";
import { showContacts } from "./contact-summary.ts";

export interface BelongingsOptions<T extends Belonging>
  extends Pick<RepositoryOptions<T>, "table" | "events" | "search" | "commands"> {
  /** Said of a contact that is not named, or not there. */
  missing: string;
  prepare(draft: T, before: T | undefined): Violation[];
}

/** The standard methods over what belongs to contacts. Every item that is answered shows its contact. */
export interface Belongings<T extends Belonging> extends Omit<Repository<T>, "list"> {
  /** All, or those of one contact: NOT_FOUND when that is not there for the caller. */
  list(
    query: ListQuery | undefined,
    contactId: number | undefined,
    call: Call,
  ): ReturnType<Repository<T>["list"]>;
}

/** Rows of a table with a `contact_id`: visible and changeable as far as their contact is. */
export function belongings<T extends Belonging>(
  context: RecordContext,
  schema: DescMessage & { readonly field: object },
  { missing, prepare, ...options }: BelongingsOptions<T>,
): Belongings<T> {
  const { database, outbox } = context;
  const rows = repository<T, Map<number, Row>>(database, outbox, schema, {
    ...options,
    order: [{ column: "date_added", descending: true }],
    owner: { by: "contact_id", through: "contacts", column: "owner_id" },
    load: (transaction, _call, messages) =>
      readContacts(
        transaction.query,
        messages.map((message) => message?.contactId ?? 0),
      ),
    prepare(draft, { before, call, loaded }): Violation[] | Fault {
      return assignContact(draft, before, { contacts: loaded, call, missing }) ?? prepare(draft, before);
    },
  });

  const show = async <A extends { items: T[] }>(answer: A, call: Call): Promise<A> => {
    await showContacts(context, answer.items, call);
    return answer;
  };
  const showOne = async (item: T, call: Call): Promise<T> => {
    await showContacts(context, [item], call);
    return item;
  };

  const read = (update: Update<T>) => referringUpdate(update, ["lead", "contact_id"], withContactId);

  return {
    get: async (id, call) => showOne(await rows.get(id, call), call),
    async list(query, contactId, call) {
      const asked =
        contactId === undefined ? query : ofContact(query, await visibleContact(database, contactId, call));
      return show(await rows.list(asked, call), call);
    },
    async create(message, call) {
      const saved = await rows.create(message && withContactId(message), call);
      return { ...saved, item: await showOne(saved.item, call) };
    },
    async update(update, call) {
      const saved = await rows.update(read(update), call);
      return { ...saved, item: await showOne(saved.item, call) };
    },
    delete: async (id, call) => showOne(await rows.delete(id, call), call),
    async batchCreate(messages, call) {
      const wanted = messages.map((message) => message && withContactId(message));
      return show(await rows.batchCreate(wanted, call), call);
    },
    batchUpdate: async (updates, call) => show(await rows.batchUpdate(updates.map(read), call), call),
    batchDelete: async (ids, call) => show(await rows.batchDelete(ids, call), call),
  };
}

function ofContact(query: ListQuery | undefined, contactId: number): ListQuery {
  const asked = create(ListQuerySchema, query);
  const condition = create(ConditionSchema, {
    expr: "eq",
    column: "contact_id",
    values: [String(contactId)],
  });
  return create(ListQuerySchema, { ...asked, where: [...asked.where, condition] });
}

function withContactId<T extends Belonging>(message: T): T {
  return { ...message, contactId: referredContact(message) };
}
