import type { BareStatement } from "./bare-statements.ts";
import { type SampleResource, tableIn } from "./sample-resources.ts";

/** A resource of the bare server: rows go out as Postgres writes them as JSON. */
export interface BareResource {
  resource: SampleResource;
  get: BareStatement;
  page: BareStatement;
  count: BareStatement;
  patch: BareStatement;
  insert: BareStatement;
}

export function bareResource(resource: SampleResource): BareResource {
  const { name } = resource;
  const table = tableIn("bench", resource);
  const event = "insert into bench.outbox (subject, aggregate_id, aggregate_version, payload)";
  const statement = (kind: string, text: string): BareStatement => ({ name: `${name}_${kind}`, text });
  return {
    resource,
    get: statement("get", `select row_to_json(t)::text as json from ${table} t where id = $1`),
    page: statement("page", `select row_to_json(t)::text as json from ${table} t order by id limit $1`),
    count: statement("count", `select count(*) as total from ${table}`),
    patch: statement(
      "patch",
      `with changed as (update ${table} set name = $2, version = version + 1 where id = $1 returning *),
       event as (${event} select '${name}.updated', id, version, $3::bytea from changed)
       select row_to_json(changed)::text as json from changed`,
    ),
    // Members that a body leaves out are as in the first row.
    insert: statement(
      "insert",
      `with created as (
         insert into ${table} overriding system value
         select (jsonb_populate_record(null::${table}, to_jsonb(t) || x.item || jsonb_build_object(
           'id', nextval('${table}_next'), 'alias', gen_random_uuid()))).*
         from ${table} t, jsonb_array_elements($1::jsonb) as x (item) where t.id = 1 returning *),
       numbered as (select id, row_number() over () as number from created),
       event as (${event} select '${name}.created', id, 1, payload
         from unnest($2::bytea[]) with ordinality as given (payload, number) join numbered using (number))
       select row_to_json(created)::text as json from created`,
    ),
  };
}
