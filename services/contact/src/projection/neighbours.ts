import { fromBinary } from "@bufbuild/protobuf";
import type { Event } from "@tidings/bus/event";
import { StageSavedSchema } from "@tidings/proto/tidings/campaign/v1/events";
import { CategorySavedSchema, EmailSavedSchema } from "@tidings/proto/tidings/content/v1/events";
import { UserSchema } from "@tidings/proto/tidings/identity/v1/user";
import { prepared, type Statement } from "@tidings/store/database";

/** A kind of thing that another service owns and this one knows a little of. */
export interface Neighbour {
  kind: string;
  /** What is kept of one; undefined when it is gone. */
  row(event: Event): object | undefined;
  /** Takes the ids that changed, and the rows of those that are still there as a JSON array. */
  statement: Statement;
}

const owner: Neighbour = {
  kind: "owner",
  row({ aggregateId, aggregateVersion, payload }) {
    const { username, firstName, lastName } = fromBinary(UserSchema, payload);
    return {
      id: aggregateId,
      version: aggregateVersion,
      username,
      first_name: firstName,
      last_name: lastName,
    };
  },
  statement: replacing(
    "owners",
    "id integer, version integer, username text, first_name text, last_name text",
  ),
};

const stage: Neighbour = {
  kind: "stage",
  row({ aggregateId, aggregateVersion, payload }) {
    const { name, description, weight, isPublished } = fromBinary(StageSavedSchema, payload);
    return {
      id: aggregateId,
      version: aggregateVersion,
      name,
      description,
      weight,
      is_published: isPublished,
    };
  },
  statement: replacing(
    "stages",
    "id integer, version integer, name text, description text, weight integer, is_published boolean",
  ),
};

const category: Neighbour = {
  kind: "category",
  row({ aggregateId, aggregateVersion, payload }) {
    const { title, alias, description, color, bundle, isPublished } = fromBinary(
      CategorySavedSchema,
      payload,
    );
    return {
      id: aggregateId,
      version: aggregateVersion,
      title,
      alias,
      description: description || null,
      color: color || null,
      bundle,
      is_published: isPublished,
    };
  },
  statement: replacing(
    "categories",
    `id integer, version integer, title text, alias text, description text, color text, bundle text,
     is_published boolean`,
  ),
};

const email: Neighbour = {
  kind: "email",
  row({ aggregateId, payload }) {
    return { id: aggregateId, segment_ids: fromBinary(EmailSavedSchema, payload).segmentIds };
  },
  statement: prepared(
    "project_email_segments",
    `with sent as (
       select x.id as email_id, (segment.value #>> '{}')::integer as segment_id
       from json_to_recordset($2::json) as x (id integer, segment_ids jsonb), jsonb_array_elements(x.segment_ids) segment),
     dropped as (
       delete from email_segments e where e.email_id = any($1::integer[])
         and not exists (select from sent s where s.email_id = e.email_id and s.segment_id = e.segment_id))
     insert into email_segments (email_id, segment_id) select distinct email_id, segment_id from sent
     on conflict do nothing`,
  ),
};

const gone = (neighbour: Neighbour): Neighbour => ({ ...neighbour, row: () => undefined });

/** Neighbours by the subject of their events. */
export const neighbours: ReadonlyMap<string, Neighbour> = new Map([
  ["tidings.identity.user.created", owner],
  ["tidings.identity.user.updated", owner],
  ["tidings.identity.user.deleted", gone(owner)],
  ["tidings.campaign.stage.saved", stage],
  ["tidings.campaign.stage.deleted", gone(stage)],
  ["tidings.content.category.saved", category],
  ["tidings.content.category.deleted", gone(category)],
  ["tidings.content.email.saved", email],
  ["tidings.content.email.deleted", gone(email)],
]);

/** Those that are gone leave, the others are as they are told. */
function replacing(table: string, columns: string): Statement {
  const names = columns.split(",").map((column) => column.trim().split(/\s/, 1)[0]);
  const assignments = names.map((name) => `${name} = excluded.${name}`);
  const text = `
    with sent as (select * from json_to_recordset($2::json) as x (${columns})),
    dropped as (
      delete from ${table} t where t.id = any($1::integer[]) and not exists (select from sent s where s.id = t.id))
    insert into ${table} (${names.join(", ")}) select ${names.join(", ")} from sent
    on conflict (id) do update set ${assignments.join(", ")}`;
  return prepared(`project_${table}`, text);
}
