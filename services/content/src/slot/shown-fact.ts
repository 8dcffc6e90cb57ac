import type { MessageInitShape } from "@bufbuild/protobuf";
import {
  type DynamicContentShownSchema,
  DynamicContentsShownSchema,
} from "@tidings/proto/tidings/content/v1/events";
import { type FactKind, type FactRow, factReader } from "../visit/fact-kind.ts";

/** The columns of a content that was shown to a contact in a slot. */
const COLUMNS = {
  id: "uuid",
  contact_id: "integer",
  dynamic_content_id: "integer",
  /** The slot. */
  source: "text",
  date_sent: "timestamptz",
  last_sent: "timestamptz",
  sent_count: "integer",
} as const;

export const SHOWN_CONTENTS: FactKind<typeof DynamicContentsShownSchema> = {
  schema: DynamicContentsShownSchema,
  table: "dynamic_content_stats",
  columns: COLUMNS,
  messageOf: (rows) => ({ shown: rows.map(eventOf) }),
};

function eventOf(row: FactRow): MessageInitShape<typeof DynamicContentShownSchema> {
  const { text, number, time } = factReader(row);
  const [dateSent, lastSent] = [time("date_sent"), time("last_sent")];
  return {
    id: text("id"),
    contactId: number("contact_id"),
    dynamicContentId: number("dynamic_content_id"),
    slot: text("source"),
    ...(dateSent && { dateSent }),
    ...(lastSent && { lastSent }),
    version: number("sent_count"),
    sentCount: number("sent_count"),
  };
}
