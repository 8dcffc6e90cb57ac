import { Verb } from "@tidings/proto/tidings/api/v1/options";
import type { Call } from "@tidings/rpc/call";
import { type RawBuilder, sql } from "kysely";
import type { Column } from "./columns.ts";
import { EVERYTHING } from "./condition.ts";

/** Rows that belong to whom another row belongs to: `by` names a row of `through`, and `column` there the user. */
export interface OwnerReference {
  by: string;
  through: string;
  column: string;
}

export interface OwnershipOptions {
  table: string;
  /** The owner of a row. Without it a row belongs to its creator. */
  owner?: OwnerReference;
  /** A boolean column: where it is true, the row is visible to who otherwise sees only what is theirs. */
  shared?: string;
}

export interface Ownership {
  /** Select list: is the row that of the user whose id is the parameter? What belongs to nobody is somebody else's. */
  isOwn(parameter: string): string;
  /** Select list: may it be seen by who sees only what is theirs? */
  isShared: string;
  /** The rows the caller may see, as a predicate. */
  visible(call: Call): RawBuilder<unknown>;
}

/** The ownership of a table's rows, as SQL for reads and writes. */
export function ownershipOf({ table, owner, shared }: OwnershipOptions, columns: Column[]): Ownership {
  const hasCreator = columns.some(({ name }) => name === "created_by");
  const { userOf, belongsTo } = owner ? ownedThrough(table, owner) : hasCreator ? CREATED : NOBODYS;
  return {
    isOwn: (parameter) => `coalesce(${userOf} = ${parameter}::integer, false)`,
    isShared: shared ?? "false",
    visible(call) {
      const reach = call.reach(Verb.VIEW);
      if (reach !== "own") return reach === "all" ? EVERYTHING : sql`false`;
      const own = belongsTo(call.actor.id);
      return shared ? sql`(${own} or ${sql.ref(shared)})` : own;
    },
  };
}

interface Rule {
  /** The user a row belongs to. */
  userOf: string;
  belongsTo(id: number | null): RawBuilder<unknown>;
}

const CREATED: Rule = { userOf: "created_by", belongsTo: (id) => sql`created_by = ${id}::integer` };

const NOBODYS: Rule = { userOf: "null::integer", belongsTo: () => sql`false` };

/** One row looks its owner up; a list begins with what the user owns. */
function ownedThrough(table: string, { by, through, column }: OwnerReference): Rule {
  const owned = sql.raw(`select o.id from ${through} o where o.${column} =`);
  return {
    userOf: `(select o.${column} from ${through} o where o.id = ${table}.${by})`,
    belongsTo: (id) => sql`${sql.ref(by)} in (${owned} ${id}::integer)`,
  };
}
