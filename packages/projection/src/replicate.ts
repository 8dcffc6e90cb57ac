import { type DescMessage, fromBinary, type MessageShape } from "@bufbuild/protobuf";
import type { Event } from "@tidings/bus/event";
import { prepared } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import type { Transaction } from "@tidings/database/transaction";
import { snakeCase } from "@tidings/runtime/snake-case";
import { type BesideRow, keepBeside, switchBeside } from "./beside.ts";
import { newestEvents } from "./newest.ts";
import type { Projection } from "./projection.ts";

/** A replica table of entities that another service owns. */
export interface Replica<S extends DescMessage> {
  table: string;
  /** Its columns besides `id` and `version`, with their types. */
  columns: Record<string, string>;
  row(entity: MessageShape<S>): Record<string, unknown>;
  /** Called in the same transaction with the ids of saved and deleted entities. */
  changed?(transaction: Transaction, ids: { kept: number[]; gone: number[] }): void;
}

/** Verbs of events that carry the entity; its service may publish others about it. */
const VERBS = ["created", "updated", "saved", "deleted"];

/**
 * A table with a row for each entity of a kind. The events `<owner>.<entity>.<verb>` carry its message; `deleted` means that
 * it is gone. The highest version is kept, in whatever order events arrive.
 */
export function replicate<S extends DescMessage>(schema: S, replica: Replica<S>): Projection {
  const { table, changed } = replica;
  const [, owner = ""] = schema.typeName.split(".");
  const prefix = `tidings.${owner}.${snakeCase(schema.name)}.`;
  const { replace, remove, removeBeside, replaceBeside } = statements(replica);
  const isGone = ({ subject }: { subject: string }) => subject === `${prefix}deleted`;
  const rowOf = ({ aggregateId, aggregateVersion, payload }: Event) => {
    const row = replica.row(fromBinary(schema, payload));
    return { id: aggregateId, version: aggregateVersion, ...row };
  };
  return {
    owner,
    subjects: VERBS.map((verb) => prefix + verb),
    rebuilt: { name: table, type: schema.typeName },
    async keep(transaction, events) {
      const latest = await newestEvents(transaction, table, events);
      const gone = latest.filter(isGone).map(({ aggregateId }) => aggregateId);
      const rows = latest.filter((event) => !isGone(event)).map(rowOf);
      if (rows.length > 0) transaction.execute(replace, [JSON.stringify(rows)]);
      if (gone.length > 0) transaction.execute(remove, [gone]);
      changed?.(transaction, { kept: rows.map(({ id }) => id), gone });
      return latest.map(({ aggregateId }) => aggregateId);
    },
    beside: {
      keep(transaction, events) {
        const rows = events.map((event): BesideRow => {
          const { aggregateId, aggregateVersion: version } = event;
          return { id: String(aggregateId), version, row: isGone(event) ? null : rowOf(event) };
        });
        keepBeside(transaction, table, rows);
      },
      async replace(transaction) {
        await switchBeside(transaction, table, async () => {
          const gone = await transaction.query(removeBeside);
          const kept = await transaction.query(replaceBeside);
          const idsOf = (rows: Row[]) => rows.map(({ id }) => Number(id));
          changed?.(transaction, { kept: idsOf(kept), gone: idsOf(gone) });
          return kept;
        });
      },
    },
  };
}

function statements<S extends DescMessage>({ table, columns }: Replica<S>) {
  const all = { id: "integer", version: "integer", ...columns };
  const names = Object.keys(all).join(", ");
  const definition = Object.entries(all)
    .map(([name, type]) => `${name} ${type}`)
    .join(", ");
  const assignments = Object.keys(all).map((name) => `${name} = excluded.${name}`);
  return {
    replace: prepared(
      `project_${table}`,
      `insert into ${table} (${names}) select ${names} from json_to_recordset($1::json) as x (${definition})
       on conflict (id) do update set ${assignments.join(", ")}`,
    ),
    remove: prepared(`project_${table}_gone`, `delete from ${table} where id = any($1::integer[])`),
    // Versions of deleted entities stay: an event that comes late does not bring them back.
    removeBeside: prepared(
      `project_${table}_beside_gone`,
      `delete from ${table} t where not exists (
         select from projected_beside b where b.name = '${table}' and b.id = t.id::text and b.row is not null)
       returning t.id`,
    ),
    replaceBeside: prepared(
      `project_${table}_beside`,
      `with versions as (
         insert into projected_versions (kind, id, version)
         select name, id::integer, version from projected_beside where name = '${table}' order by 2
         on conflict (kind, id) do update set version = greatest(projected_versions.version, excluded.version))
       insert into ${table} (${names})
       select ${names.replaceAll(/(\w+)/g, "x.$1")} from projected_beside b, jsonb_to_record(b.row) as x (${definition})
       where b.name = '${table}' and b.row is not null order by x.id
       on conflict (id) do update set ${assignments.join(", ")}
       where (${names.replaceAll(/(\w+)/g, `${table}.$1`)}) is distinct from (${names.replaceAll(/(\w+)/g, "excluded.$1")})
       returning id`,
    ),
  };
}
