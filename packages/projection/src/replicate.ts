import { type DescMessage, fromBinary, type MessageShape } from "@bufbuild/protobuf";
import { prepared, type Transaction } from "@tidings/database/database";
import { snakeCase } from "@tidings/runtime/snake-case";
import { newestEvents } from "./newest.ts";
import type { Projection } from "./projection.ts";

/** A replica table of entities that another service owns. */
export interface Kept<S extends DescMessage> {
  table: string;
  /** Its columns besides `id` and `version`, with their types. */
  columns: Record<string, string>;
  row(thing: MessageShape<S>): Record<string, unknown>;
  /** Called in the same transaction with the ids of saved and deleted entities. */
  changed?(transaction: Transaction, ids: { kept: number[]; gone: number[] }): void;
}

/** Events that carry the thing itself; its service may publish others about it. */
const VERBS = ["created", "updated", "saved", "deleted"];

/**
 * A table with a row for each thing of a kind. The events `<owner>.<thing>.<verb>` carry the thing's message; `deleted` means
 * that it is gone. They are kept by version, whatever order they come in.
 */
export function replicate<S extends DescMessage>(schema: S, kept: Kept<S>): Projection {
  const [, owner = ""] = schema.typeName.split(".");
  const prefix = `tidings.${owner}.${snakeCase(schema.name)}.`;
  const { replace, remove } = statements(kept);
  return {
    owner,
    subjects: VERBS.map((verb) => prefix + verb),
    rebuilt: { name: kept.table, type: schema.typeName },
    async keep(transaction, events) {
      const latest = await newestEvents(transaction, kept.table, events);
      const isGone = ({ subject }: { subject: string }) => subject === `${prefix}deleted`;
      const gone = latest.filter(isGone).map(({ aggregateId }) => aggregateId);
      const rows = latest
        .filter((event) => !isGone(event))
        .map(({ aggregateId, aggregateVersion, payload }) => {
          const row = kept.row(fromBinary(schema, payload));
          return { id: aggregateId, version: aggregateVersion, ...row };
        });
      if (rows.length > 0) transaction.execute(replace, [JSON.stringify(rows)]);
      if (gone.length > 0) transaction.execute(remove, [gone]);
      kept.changed?.(transaction, { kept: rows.map(({ id }) => id), gone });
      return latest.map(({ aggregateId }) => aggregateId);
    },
  };
}

function statements<S extends DescMessage>({ table, columns }: Kept<S>) {
  const all = { id: "integer", version: "integer", ...columns };
  const names = Object.keys(all).join(", ");
  const definition = Object.entries(all).map(([name, type]) => `${name} ${type}`);
  const assignments = Object.keys(all).map((name) => `${name} = excluded.${name}`);
  return {
    replace: prepared(
      `project_${table}`,
      `insert into ${table} (${names}) select ${names} from json_to_recordset($1::json) as x (${definition.join(", ")})
       on conflict (id) do update set ${assignments.join(", ")}`,
    ),
    remove: prepared(`project_${table}_gone`, `delete from ${table} where id = any($1::integer[])`),
  };
}
