import { type Database, prepared } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import { FactService } from "@tidings/proto/tidings/api/v1/fact";
import { notFound } from "@tidings/rpc/fault";
import { type Implementation, implement } from "@tidings/rpc/server";

/** A table of facts that services may list. */
export interface FactTable {
  /** The event that carries the facts: `tidings.content.v1.PageHits`. */
  type: string;
  /** Partitioned by month, or a plain table. */
  table: string;
  /** The column that identifies a fact and orders the facts of a partition. */
  key: string;
  /** The columns that `eventsOf` reads. */
  columns: string[];
  /** The events that would publish these rows. */
  eventsOf(rows: Row[]): Uint8Array[] | Promise<Uint8Array[]>;
}

interface Position {
  partition: string;
  key: string;
}

/** The events of one page of facts, and the position of its last fact. */
export interface FactPage {
  events: Uint8Array[];
  next: Position | undefined;
}

export interface FactSource {
  type: string;
  list(page: { after?: Position | undefined; pageSize: number }, deadlineMs: number): Promise<FactPage>;
}

const PAGE_MAX = 1_000;

/** Partitions without a table of their own are listed as the table itself. */
const partitionsStatement = prepared(
  "fact_partitions",
  `select name from (
     select coalesce(p.relname, t.relname)::text collate "C" as name from pg_class t
     left join pg_inherits i on i.inhparent = t.oid left join pg_class p on p.oid = i.inhrelid
     where t.oid = to_regclass($1)) as partition
   where name >= $2::text order by name limit 2`,
);

/** Lists the facts of a table by partition and key, each page with one index scan. */
export function factSource(database: Database, facts: FactTable): FactSource {
  const { type, table, key, columns, eventsOf } = facts;
  const selected = [...new Set([key, ...columns])].join(", ");
  return {
    type,
    async list({ after, pageSize }, deadlineMs) {
      const [partition, following] = await database.query(
        partitionsStatement,
        [table, after?.partition ?? ""],
        deadlineMs,
      );
      const name = partition?.name;
      if (!name) return { events: [], next: undefined };
      // A partition that was detached meanwhile is skipped: the list goes on with the one behind it.
      const afterKey = after?.partition === name ? after.key : "";
      // The name comes from the catalogue of Postgres and is quoted.
      const text = `select ${selected} from "${name}" where ${afterKey === "" ? "true" : `${key} > $2`} order by ${key} limit $1`;
      const values = afterKey === "" ? [pageSize] : [pageSize, afterKey];
      const rows = await database.query({ text }, values, deadlineMs);
      const last = rows.at(-1);
      const hasMore = rows.length === pageSize && last;
      const next = hasMore ? { partition: name, key: last[key] ?? "" } : undefined;
      const behind = following?.name ? { partition: following.name, key: "" } : undefined;
      return { events: rows.length > 0 ? await eventsOf(rows) : [], next: next ?? behind };
    },
  };
}

export function implementFacts(sources: FactSource[]): Implementation {
  return implement(FactService, {
    async listFacts({ type, after, pageSize }, { deadlineMs }) {
      const source = sources.find((candidate) => candidate.type === type);
      if (!source) throw notFound();
      const size = Math.min(Math.max(pageSize, 1), PAGE_MAX);
      const { events, next } = await source.list({ after, pageSize: size }, deadlineMs);
      return { events, ...(next && { next }) };
    },
  });
}
