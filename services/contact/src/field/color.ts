import { type Database, prepared } from "@tidings/database/database";

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
