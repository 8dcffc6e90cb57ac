import { backgroundDeadline, prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import { factEvents } from "@tidings/messaging/fact-events";
import { Counter } from "prom-client";
import { columnsIn, insertFacts } from "../visit/fact-table.ts";
import { groupCommit } from "../visit/group-commit.ts";
import { countedVerdict, isKept, meetVisitors } from "../visit/meet-visitors.ts";
import type { RecordFact } from "../visit/record-facts.ts";
import type { Visits } from "../visit/record-hits.ts";
import { rowOf, VIDEO_HITS, type VideoReport } from "./video-hit.ts";

const recorded = new Counter({
  name: "tidings_video_reports_total",
  help: "Reports of video players that were recorded, by the verdict on the visitor; `nobody`: without consent, of which no row is kept",
  labelNames: ["verdict"],
});

const SUBJECT = "tidings.content.video.hit";
const insertStatement = insertFacts(VIDEO_HITS.table, VIDEO_HITS.columns);

/**
 * Records reports of players in groups. The first report of a browser under a name makes a hit; later ones within a day are that hit, whose time
 * watched grows.
 */
export function videoRecorder({ database, outbox, ids }: Visits): RecordFact<VideoReport> {
  return groupCommit((sent) =>
    database.transaction(
      backgroundDeadline(),
      async (transaction) => {
        const { visitors, facts, events } = await meetVisitors(transaction, ids, sent, {
          targetsOf: () => [],
        });
        const showings = showingsIn(facts.filter(isKept));
        const grown = await grow(transaction, showings);
        const isGrown = new Set(grown.map(({ tracking_id, guid }) => nameOf(tracking_id, guid)));
        const rows = showings
          .filter(({ device, guid }) => !isGrown.has(nameOf(device?.id, guid)))
          .map((showing) => rowOf(showing, visitors.get(showing.first)));
        if (rows.length > 0) transaction.execute(insertStatement, [JSON.stringify(rows)]);
        const hits = factEvents(SUBJECT, VIDEO_HITS.schema, [...grown, ...rows], VIDEO_HITS.messageOf);
        outbox.append(transaction, [...events, ...hits]);
        transaction.afterCommit(() => {
          for (const report of facts) recorded.inc({ verdict: countedVerdict(report) });
        });
        return visitors;
      },
      { byIndex: true },
    ),
  );
}

/** The reports of one showing in a group: the first one, with the most that was watched. */
interface Showing extends VideoReport {
  first: VideoReport;
  lastAt: number;
}

function showingsIn(reports: VideoReport[]): Showing[] {
  const showings = new Map<string | VideoReport, Showing>();
  for (const report of reports) {
    const { device, guid, timeWatched, duration, at } = report;
    // A report without a name is a showing of its own.
    const name = device && guid ? nameOf(device.id, guid) : report;
    const known = showings.get(name);
    showings.set(name, {
      ...(known ?? { ...report, first: report }),
      timeWatched: most(known?.timeWatched, timeWatched),
      duration: duration ?? known?.duration,
      lastAt: at,
    });
  }
  return [...showings.values()];
}

function most(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.max(one, other);
}

function nameOf(deviceId: string | null | undefined, guid: string | null | undefined): string {
  return `${deviceId} ${guid}`;
}

/** Only the partitions of the last day are looked into. The devices are locked: reports of one showing are not recorded at the same time. */
const growStatement = prepared(
  "video_hits_grow",
  `with x as (
     select * from json_to_recordset($1::json)
       as x (tracking_id text, guid text, time_watched integer, duration integer, date_left timestamptz)),
   known as (
     select h.id, h.date_hit, x.time_watched, x.duration, x.date_left
     from x cross join lateral (
       select id, date_hit from video_hits
       where tracking_id = x.tracking_id and guid = x.guid and date_hit > now() - interval '1 day'
       order by date_hit + interval '0 s' desc limit 1) h)
   update video_hits h set version = h.version + 1, date_left = greatest(h.date_left, known.date_left),
     time_watched = greatest(h.time_watched, known.time_watched), duration = coalesce(known.duration, h.duration)
   from known where h.id = known.id and h.date_hit = known.date_hit
   returning ${columnsIn("h", VIDEO_HITS.columns)}`,
);

/** Hits of showings that go on, as they are now. */
async function grow(transaction: Transaction, showings: Showing[]) {
  const named = showings.filter(({ device, guid }) => device && guid);
  if (named.length === 0) return [];
  const sent = named.map(({ device, guid, timeWatched, duration, lastAt }) => ({
    ...{ tracking_id: device?.id, guid, time_watched: timeWatched, duration },
    date_left: new Date(lastAt).toISOString(),
  }));
  return transaction.query(growStatement, [JSON.stringify(sent)]);
}
