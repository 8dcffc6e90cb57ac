import { create } from "@bufbuild/protobuf";
import type { Database } from "@tidings/database/database";
import { Verb } from "@tidings/proto/tidings/api/v1/options";
import { ConditionSchema, type ListQuery, ListQuerySchema } from "@tidings/proto/tidings/type/v1/list";
import type { ReferenceKind } from "@tidings/resource/reference";
import type { Call } from "@tidings/rpc/call";
import { denied } from "@tidings/rpc/fault";
import { contactWriter } from "../contact/contact-json.ts";
import { currentRows } from "../contact/read.ts";
import { forContacts, readContacts, visibleContact } from "../contact/referred.ts";
import type { FieldCatalogues } from "../field/catalogue.ts";
import { mayReach } from "../record/reach.ts";

/** The owner of a row with a `contact_id` is the owner of the contact. */
export const OWNED_THROUGH_CONTACT = { by: "contact_id", through: "contacts", column: "owner_id" };

/**
 * A contact that an entity belongs to. A hidden one has the same error as one that does not exist, and nothing is
 * given to a contact that the caller may not change.
 */
export function contactReference(catalogues: FieldCatalogues): ReferenceKind {
  return {
    async find({ query }, ids, call) {
      const contacts = await readContacts(query, ids);
      return new Map(
        [...contacts].filter(([, row]) => mayReach(forContacts(call), Verb.VIEW, row, "owner_id")),
      );
    },
    refuse: (row, { call, isNew }) =>
      mayReach(forContacts(call), isNew ? Verb.CREATE : Verb.EDIT, row, "owner_id") ? undefined : denied(),
    async show(database, ids, { deadlineMs }) {
      const rows = await currentRows(database, ids, deadlineMs);
      const [first] = rows.values();
      const { message } = contactWriter(await catalogues.atLeast(Number(first?.field_revision ?? 0)));
      return new Map([...rows].map(([id, row]) => [id, summary(message(row))] as const));
    },
  };
}

/** A list of what belongs to one contact, when one is named: NOT_FOUND when that is not there for the caller. */
export async function listOfContact(
  database: Database,
  { query, contactId }: { query?: ListQuery | undefined; contactId?: number | undefined },
  call: Call,
): Promise<ListQuery | undefined> {
  if (contactId === undefined) return query;
  const asked = create(ListQuerySchema, query);
  const id = await visibleContact(database, contactId, call);
  const ofContact = create(ConditionSchema, { expr: "eq", column: "contact_id", values: [String(id)] });
  return create(ListQuerySchema, { ...asked, where: [...asked.where, ofContact] });
}

function summary({ id, points, color, fields }: ReturnType<ReturnType<typeof contactWriter>["message"]>) {
  const members = `"id":${id},"points":${points},"color":${JSON.stringify(color ?? null)}`;
  return Buffer.from(`{${members},"fields":${fields?.values}}`);
}
