import { type Timestamp, timestampDate } from "@bufbuild/protobuf/wkt";
import { type Database, prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import { replicate } from "@tidings/projection/replicate";
import { PointTriggerSchema } from "@tidings/proto/tidings/campaign/v1/point_trigger";

/** The table of the replicas. */
export const POINT_TRIGGERS_TABLE = `create table point_triggers (
    id integer primary key, version integer not null, points integer not null, color text not null, group_id integer,
    is_published boolean not null, publish_up timestamptz, publish_down timestamptz)`;

/** Which colours contacts have by their points. */
export const pointTriggers = replicate(PointTriggerSchema, {
  table: "point_triggers",
  columns: {
    points: "integer",
    color: "text",
    group_id: "integer",
    is_published: "boolean",
    publish_up: "timestamptz",
    publish_down: "timestamptz",
  },
  row: ({ points, color, group, isPublished, publishUp, publishDown }) => ({
    points: points ?? 0,
    color: color ?? "",
    group_id: group?.id,
    is_published: isPublished ?? false,
    publish_up: isoTimeOf(publishUp),
    publish_down: isoTimeOf(publishDown),
  }),
});

const ungroupStatement = prepared(
  "point_triggers_ungroup",
  "update point_triggers set group_id = null where group_id = any($1::integer[])",
);

/** The triggers of point groups that are gone are about all points. */
export function ungroupTriggers(transaction: Transaction, groupIds: number[]): void {
  if (groupIds.length > 0) transaction.execute(ungroupStatement, [groupIds]);
}

/** The colour that contacts have from so many points on, while its trigger is published. */
export interface PointColor {
  points: number;
  color: string;
  fromMs: number;
  untilMs: number;
}

/** Lower ones are not looked at. */
const COLORS_MAX = 1_000;

// Triggers of a group are not about all points.
const statement = prepared(
  "point_colors",
  `select points, color, publish_up, publish_down from point_triggers
   where is_published and group_id is null and color <> '' order by points desc, id limit ${COLORS_MAX}`,
);

/** The colours there are, the one for the most points first. */
export async function readColors(database: Database, deadlineMs: number): Promise<PointColor[]> {
  const rows = await database.query(statement, [], deadlineMs);
  return rows.map(({ points, color, publish_up, publish_down }) => ({
    points: Number(points),
    color: color ?? "",
    fromMs: publish_up ? Date.parse(publish_up) : Number.NEGATIVE_INFINITY,
    untilMs: publish_down ? Date.parse(publish_down) : Number.POSITIVE_INFINITY,
  }));
}

/** The colour for these points, as of now; undefined when nothing is reached. */
export function colorOf(colors: PointColor[], points: number): string | undefined {
  if (colors.length === 0) return undefined;
  const nowMs = Date.now();
  return colors.find((one) => one.points <= points && one.fromMs <= nowMs && nowMs < one.untilMs)?.color;
}

function isoTimeOf(time: Timestamp | undefined): string | undefined {
  return time && timestampDate(time).toISOString();
}
