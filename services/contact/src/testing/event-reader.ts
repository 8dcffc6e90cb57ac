import { fromBinary } from "@bufbuild/protobuf";
import type { Database } from "@tidings/database/database";
import {
  ContactDeletedSchema,
  ContactMergedSchema,
  ContactSavedSchema,
} from "@tidings/proto/tidings/contact/v1/events";

const SCHEMAS = {
  created: ContactSavedSchema,
  updated: ContactSavedSchema,
  reassigned: ContactSavedSchema,
  deleted: ContactDeletedSchema,
  merged: ContactMergedSchema,
};

/** For tests: the events of a contact, in order. */
export async function contactEventsOf(database: Database, id: number) {
  const rows = await database.query(
    {
      text: `select subject, encode(payload, 'base64') as payload from outbox
        where aggregate_id = $1 and subject like 'tidings.contact.contact.%' order by id`,
    },
    [id],
    Date.now() + 5_000,
  );
  return rows.map((row) => {
    const verb = (row.subject ?? "").split(".").at(-1) as keyof typeof SCHEMAS;
    const message = fromBinary(SCHEMAS[verb], Buffer.from(row.payload ?? "", "base64"));
    return { verb, message: message as unknown as Record<string, unknown> };
  });
}
