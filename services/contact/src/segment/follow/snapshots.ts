import { create, toBinary } from "@bufbuild/protobuf";
import { type Database, prepared } from "@tidings/database/database";
import { SnapshotSchema } from "@tidings/proto/tidings/api/v1/snapshot";
import { ContactSegmentsSchema } from "@tidings/proto/tidings/contact/v1/events";
import type { SnapshotSource } from "@tidings/resource/snapshots";

const statement = prepared(
  "segment_contacts_snapshots",
  `select contact_id as id, json_agg(segment_id order by segment_id) as segment_ids from segment_contacts
   where contact_id > $1 and not manually_removed group by contact_id order by contact_id limit $2::integer`,
);

/** All contacts that are in a segment, with those they are in. Nothing counts the changes of that: it has no version. */
export function memberSnapshots(database: Database): SnapshotSource {
  return {
    type: ContactSegmentsSchema.typeName,
    async list({ afterId, pageSize }, deadlineMs) {
      const rows = await database.query(statement, [afterId, pageSize], deadlineMs);
      return rows.map(({ id, segment_ids }) => {
        const message = create(ContactSegmentsSchema, { segmentIds: JSON.parse(segment_ids ?? "[]") });
        const payload = toBinary(ContactSegmentsSchema, message);
        return create(SnapshotSchema, { id: Number(id), version: 1, payload });
      });
    },
  };
}
