import { create } from "@bufbuild/protobuf";
import { type Database, prepared } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import { timestampFromText } from "@tidings/database/timestamp";
import type { Transaction } from "@tidings/database/transaction";
import { Verb } from "@tidings/proto/tidings/api/v1/options";
import { ConsentSchema, type ConsentService } from "@tidings/proto/tidings/contact/v1/consent";
import { ContactSchema } from "@tidings/proto/tidings/contact/v1/contact";
import type { Handlers } from "@tidings/rpc/definition";
import { requireExpected } from "@tidings/rpc/expected";
import { invalid, notFound } from "@tidings/rpc/fault";
import { reachedContacts } from "../contact/referred.ts";
import { keepLatest } from "../rows/keep-latest.ts";
import { pageOfContact } from "./page-of-contact.ts";

/** An answer to the question for consent. */
export interface NewConsent {
  contactId: number;
  /** Milliseconds since the epoch. */
  at: number;
  given: boolean;
  /** script, form or api. */
  by: string;
  where: string;
}

/** SQL of a migration. */
export const CONSENTS_TABLE = [
  `create table contact_consents (
    id bigint generated always as identity primary key, contact_id integer not null references contacts on delete cascade,
    date_added timestamptz not null, is_given boolean not null, source text not null, place text)`,
  "create index contact_consents_of_contact on contact_consents (contact_id, id)",
];

const WHERE_LENGTH_MAX = 2_048;
/** Answers of a contact that are kept: who answers more often than that leaves the latest. */
const KEPT_MAX = 1_000;

const COLUMNS = "date_added, is_given, source, place";
const insertStatement = prepared(
  "contact_consents_add",
  `insert into contact_consents (contact_id, date_added, is_given, source, place)
   select c.id, x.date_added, x.is_given, x.source, x.place
   from json_to_recordset($1::json) as x (contact_id integer, date_added timestamptz, is_given boolean, source text, place text)
   join contacts c on c.id = x.contact_id returning ${COLUMNS}`,
);
const versionStatement = prepared(
  "contacts_version_shared",
  "select version from contacts where id = $1 for share",
);
const trimStatement = keepLatest("contact_consents", "id desc", KEPT_MAX);
const listStatement = prepared(
  "contact_consents_list",
  `select ${COLUMNS} from contact_consents where contact_id = $1 order by date_added desc, id desc offset $2 limit $3`,
);
const countStatement = prepared(
  "contact_consents_count",
  "select count(*) from contact_consents where contact_id = $1",
);

/** Keeps what contacts answered, as a part of the transaction. Contacts that are not there are left out. */
export async function addConsents(transaction: Transaction, consents: NewConsent[]): Promise<Row[]> {
  if (consents.length === 0) return [];
  const rows = consents.map(({ contactId, at, given, by, where }) => ({
    contact_id: contactId,
    date_added: new Date(at).toISOString(),
    is_given: given,
    source: by,
    place: where || null,
  }));
  const added = await transaction.query(insertStatement, [JSON.stringify(rows)]);
  transaction.execute(trimStatement, [[...new Set(consents.map(({ contactId }) => contactId))]]);
  return added;
}

export function consentHandlers({ database }: { database: Database }): Handlers<typeof ConsentService> {
  return {
    async listConsents(request, call) {
      const statements = { list: listStatement, count: countStatement };
      const { rows, totalSize } = await pageOfContact(database, statements, request, call);
      return { consents: rows.map(consentOf), totalSize };
    },
    async addConsent({ contactId, given, where }, call) {
      if (where.length > WHERE_LENGTH_MAX)
        throw invalid([{ field: "where", message: `It has at most ${WHERE_LENGTH_MAX} characters.` }]);
      const contacts = await reachedContacts(database, [contactId], call, Verb.EDIT);
      const id = Number(contacts.get(contactId)?.id);
      const answer = { contactId: id, at: Date.now(), given, by: "api", where };
      const [row] = await database.transaction(call.deadlineMs, async (transaction) => {
        const [contact] = await transaction.query(versionStatement, [id]);
        if (contact) requireExpected(call, ContactSchema.typeName, { id, version: Number(contact.version) });
        return addConsents(transaction, [answer]);
      });
      // It was deleted meanwhile.
      if (!row) throw notFound("Contact not found.");
      return consentOf(row);
    },
  };
}

function consentOf(row: Row) {
  return create(ConsentSchema, {
    at: timestampFromText(row.date_added ?? ""),
    given: row.is_given === "t",
    by: row.source ?? "",
    ...(row.place && { where: row.place }),
  });
}
