import type { Database } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import { type Segment, SegmentSchema } from "@tidings/proto/tidings/contact/v1/segment";
import { awaitRows } from "@tidings/resource/await-rows";
import type { ReferenceKind } from "@tidings/resource/reference";
import { rowReference } from "@tidings/resource/row-reference";
import type { Projection } from "./projection.ts";
import { replicate } from "./replicate.ts";

/** The table `segments`, where a service refers to segments. `forget` takes those that are gone out of what refers to them. */
export function segments(forget: (transaction: Transaction, ids: number[]) => void): Projection {
  return replicate(SegmentSchema, {
    table: "segments",
    columns: {
      name: "text",
      alias: "text",
      description: "text",
      is_published: "boolean",
      is_global: "boolean",
      created_by: "integer",
      created_by_user: "text",
      modified_by_user: "text",
    },
    row: (segment: Segment) => ({
      name: segment.name,
      alias: segment.alias,
      description: segment.description,
      is_published: segment.isPublished ?? true,
      is_global: segment.isGlobal ?? true,
      created_by: segment.createdBy,
      created_by_user: segment.createdByUser,
      modified_by_user: segment.modifiedByUser,
    }),
    changed(transaction, { gone }) {
      if (gone.length > 0) forget(transaction, gone);
    },
  });
}

/** A segment that the caller may see, out of what is kept of the contact service's. */
export function segmentReference(database: Database): ReferenceKind {
  return {
    await: (ids, { deadlineMs }) => awaitRows(database, "segments", ids, deadlineMs),
    ...rowReference({
      table: "segments",
      permission: "lead:lists",
      own: "is_global or created_by = $3::integer",
      shown: `json_build_object('createdByUser', created_by_user, 'modifiedByUser', modified_by_user, 'id', id,
        'name', name, 'alias', alias, 'description', description)`,
    }),
  };
}
