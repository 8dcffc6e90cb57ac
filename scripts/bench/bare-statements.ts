import { SAMPLE_FIELDS } from "./sample-contact.ts";

/** The least that does the same work on the same Postgres: every statement is named, so prepared once. */
export interface BareStatement {
  name: string;
  text: string;
}

/** Copies the contacts with their columns, defaults and indexes; events go to an outbox of the same form. */
export const COPY_CONTACTS = `
  drop schema if exists bench cascade;
  create schema bench;
  create table bench.contacts (like contact.contacts including all);
  create table bench.outbox (like contact.outbox including all);
  insert into bench.contacts overriding system value select * from contact.contacts;
  select setval(pg_get_serial_sequence('bench.contacts', 'id'), (select max(id) from bench.contacts));`;

export const getOne: BareStatement = { name: "get", text: "select * from bench.contacts where id = $1" };

/** The ids come from the index first: the fastest form we know for deep pages. */
export const getPage: BareStatement = {
  name: "page",
  text: `select * from bench.contacts where id in
      (select id from bench.contacts order by last_active desc nulls last, id desc limit $1 offset $2)
    order by last_active desc nulls last, id desc`,
};

export const countAll: BareStatement = {
  name: "count",
  text: "select count(*) as total from bench.contacts",
};

const INSERT_EVENT = "insert into bench.outbox (subject, aggregate_id, aggregate_version, payload)";
const COLUMNS = SAMPLE_FIELDS.join(", ");

const patchStatements = new Map<string, BareStatement>(
  SAMPLE_FIELDS.map((field) => [
    field,
    {
      name: `patch_${field}`,
      text: `with changed as (
          update bench.contacts set ${field} = $2, version = version + 1, date_modified = now(), modified_by = 1,
            modified_by_user = 'Admin User'
          where id = $1 returning *),
        event as (${INSERT_EVENT} select 'contact.updated', id, version, $3::bytea from changed)
        select * from changed`,
    },
  ]),
);

/** Row and event in one statement; the values are id, value and the event's payload. */
export function patchField(field: string): BareStatement {
  const statement = patchStatements.get(field);
  if (!statement) throw new Error(`no field ${field}`);
  return statement;
}

/** The values are the fields in their order and the event's payload. */
export const insertOne: BareStatement = {
  name: "insert",
  text: `with created as (
      insert into bench.contacts (date_added, date_identified, created_by, created_by_user, ${COLUMNS})
      values (now(), now(), 1, 'Admin User', ${SAMPLE_FIELDS.map((_field, index) => `$${index + 1}`).join(", ")})
      returning *),
    event as (${INSERT_EVENT}
      select 'contact.created', id, 1, $${SAMPLE_FIELDS.length + 1}::bytea from created)
    select * from created`,
};

const INSERT_BATCH = `with created as (
    insert into bench.contacts (date_added, date_identified, created_by, created_by_user, ${COLUMNS})
    select now(), now(), 1, 'Admin User', ${COLUMNS}
    from json_to_recordset($1::json) as x(${SAMPLE_FIELDS.map((field) => `${field} text`).join(", ")})
    returning *),
  numbered as (select id, row_number() over () as number from created),
  event as (${INSERT_EVENT}
    select 'contact.created', id, 1, payload
    from unnest($2::bytea[]) with ordinality as given (payload, number) join numbered using (number))`;

/** The values are a JSON list of contacts and the payloads of their events. */
export const insertBatch: BareStatement = { name: "batch", text: `${INSERT_BATCH} select * from created` };

/** The same without sending the rows back. */
export const insertBatchSilently: BareStatement = {
  name: "batch_silent",
  text: `${INSERT_BATCH} select count(*) as created from created`,
};
