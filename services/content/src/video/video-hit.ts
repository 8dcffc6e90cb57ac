import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { type VideoHitSchema, VideoHitsSchema } from "@tidings/proto/tidings/content/v1/events";
import { type FactKind, type FactRow, factReader } from "../visit/fact-kind.ts";
import { factTable } from "../visit/fact-table.ts";
import { timeOfId } from "../visit/hit.ts";
import type { Visitor } from "../visit/sighting.ts";
import { type PageFact, VISIT_COLUMNS, visitMembers, visitRow } from "../visit/visit-row.ts";

/** A player reports how far a video was watched. */
export interface VideoReport extends PageFact {
  /** The name that the player gave to this showing of the video; empty for none. */
  guid: string;
  /** Seconds; undefined where the player does not say. */
  timeWatched: number | undefined;
  duration: number | undefined;
}

const COLUMNS = {
  /** A UUIDv7, whose time is that of the first report. */
  id: "uuid",
  version: "integer",
  /** Null: a machine. */
  contact_id: "integer",
  date_hit: "timestamptz",
  date_left: "timestamptz",
  guid: "text",
  time_watched: "integer",
  duration: "integer",
  channel: "text",
  channel_id: "integer",
  ...VISIT_COLUMNS,
} as const;

/** SQL of a migration: videos that were watched. */
export const VIDEO_TABLES = [
  ...factTable("video_hits", COLUMNS, "date_hit"),
  "create index video_hits_of_player on video_hits (tracking_id, guid) where tracking_id is not null",
];

export const VIDEO_HITS = {
  schema: VideoHitsSchema,
  table: "video_hits",
  columns: COLUMNS,
  messageOf: (rows) => ({ hits: rows.map(eventOf) }),
} satisfies FactKind<typeof VideoHitsSchema>;

/** The hit that a first report makes. */
export function rowOf(report: VideoReport, visitor: Visitor | undefined) {
  return {
    ...visitRow(report),
    id: report.id,
    version: 1,
    contact_id: visitor?.contactId ?? null,
    date_hit: timeOfId(report.id).toISOString(),
    date_left: null,
    guid: report.guid || null,
    time_watched: report.timeWatched ?? null,
    duration: report.duration ?? null,
    channel: report.source || null,
    channel_id: report.sourceId ?? null,
  } satisfies Record<keyof typeof COLUMNS, unknown>;
}

function eventOf(row: FactRow): MessageInitShape<typeof VideoHitSchema> {
  const { text, number, optional, time } = factReader(row);
  const [timeWatched, duration] = [optional("time_watched"), optional("duration")];
  const [channelId, dateLeft] = [optional("channel_id"), time("date_left")];
  return {
    ...visitMembers(row),
    id: text("id"),
    version: number("version"),
    contactId: number("contact_id"),
    dateHit: timestampFromDate(timeOfId(text("id"))),
    ...(dateLeft && { dateLeft }),
    guid: text("guid"),
    ...(timeWatched !== undefined && { timeWatched }),
    ...(duration !== undefined && { duration }),
    channel: text("channel"),
    ...(channelId !== undefined && { channelId }),
  };
}
