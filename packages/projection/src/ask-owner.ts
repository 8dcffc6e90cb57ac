import type { Event } from "@tidings/bus/event";
import { type Database, prepared } from "@tidings/database/database";
import type { AskOwner } from "@tidings/resource/await-rows";
import type { Projection } from "./projection.ts";
import { type ListSnapshots, listedEvent } from "./rebuild.ts";

interface Asking {
  database: Database;
  projections: Projection[];
  listSnapshots: ListSnapshots;
}

const PAGE_MAX = 1_000;

/** Asks owners for entities that are not replicated yet, and keeps the answers as events of their versions are kept. */
export function ownerAsker(
  { database, projections, listSnapshots }: Asking,
  keep: (events: Event[]) => Promise<void>,
): AskOwner {
  /** Undefined for a table that is this service's own: there is nobody to ask. */
  const sourceOf = (table: string) => {
    const projection = projections.find(({ rebuilt }) => rebuilt?.name === table);
    return projection?.rebuilt && { owner: projection.owner, type: projection.rebuilt.type };
  };
  return {
    async byId(table, ids, deadlineMs) {
      const source = sourceOf(table);
      if (!source) return;
      const { owner, type } = source;
      const wanted = ids.toSorted((one, other) => one - other);
      const events: Event[] = [];
      // A page covers all wanted ids that lie close together, which new ones do.
      for (let next = wanted[0]; next !== undefined; ) {
        const last = wanted.at(-1) ?? next;
        const pageSize = Math.min(PAGE_MAX, last - next + 1);
        const page = await listSnapshots(owner, { type, afterId: next - 1, pageSize }, deadlineMs);
        events.push(...page.map((snapshot) => listedEvent(type, snapshot)));
        const seen = page.length < pageSize ? last : (page.at(-1)?.id ?? last);
        next = wanted.find((id) => id > seen);
      }
      if (events.length > 0) await keep(events);
    },
    async newest(table, deadlineMs) {
      const source = sourceOf(table);
      if (!source) return;
      const statement = prepared(`${table}_newest`, `select coalesce(max(id), 0) as id from ${table}`);
      const [row] = await database.query(statement, [], deadlineMs);
      const request = { type: source.type, afterId: Number(row?.id), pageSize: PAGE_MAX };
      const page = await listSnapshots(source.owner, request, deadlineMs);
      if (page.length > 0) await keep(page.map((snapshot) => listedEvent(source.type, snapshot)));
    },
  };
}
