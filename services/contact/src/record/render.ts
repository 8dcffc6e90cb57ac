import type { Row } from "@tidings/database/statement";
import { badRequest } from "@tidings/rpc/fault";
import type { OwnerColumn } from "./reach.ts";

/** A page of what others render: the memory it takes is bounded. */
const SOURCES_MAX = 1_000;

export interface RecordWriter {
  /** A row as it was when something happened, or as it is, for receivers of webhooks. */
  webhookJson(row: Row): Buffer;
  currentJson(row: Row): Buffer;
}

export interface Rendered {
  texts: Buffer[];
  /** The user each of them belongs to; 0 where there is none. */
  ownerIds: number[];
}

/** Records as they were in the snapshots, then those of the ids as they are. Of one that is gone only the id is known. */
export async function renderRecords(
  { snapshots, ids }: { snapshots: Uint8Array[]; ids: number[] },
  readCurrent: (ids: number[]) => Promise<Map<number, Row>>,
  writer: RecordWriter,
  ownerColumn: OwnerColumn,
): Promise<Rendered> {
  if (snapshots.length + ids.length > SOURCES_MAX)
    throw badRequest(`At most ${SOURCES_MAX} records are rendered at once.`);
  const told = snapshots.map((snapshot): Row => JSON.parse(Buffer.from(snapshot).toString()));
  const current = ids.length > 0 ? await readCurrent(ids) : new Map<number, Row>();
  const known = ids.map((id) => current.get(id));
  return {
    texts: [
      ...told.map((row) => writer.webhookJson(row)),
      ...known.map((row, index) =>
        row ? writer.currentJson(row) : Buffer.from(JSON.stringify({ id: ids[index] })),
      ),
    ],
    ownerIds: [...told, ...known].map((row) => Number(row?.[ownerColumn] ?? 0)),
  };
}
