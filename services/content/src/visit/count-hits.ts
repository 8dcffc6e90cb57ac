import { prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import type { Hit } from "./hit.ts";
import { sumVisits } from "./sum-visits.ts";

const countPages = prepared(
  "pages_count_hits",
  `update pages p set hits = p.hits + x.hits, unique_hits = p.unique_hits + x.unique_hits,
     variant_hits = p.variant_hits + case when p.variant_start_date is not null then x.unique_hits else 0 end
   from (select * from json_to_recordset($1::json) as x (id integer, hits integer, unique_hits integer) order by id) x
   where p.id = x.id`,
);
const countRedirects = prepared(
  "page_redirects_count",
  `update page_redirects r set hits = r.hits + x.hits, unique_hits = r.unique_hits + x.unique_hits
   from (select * from json_to_recordset($1::json) as x (id integer, hits integer, unique_hits integer) order by id) x
   where r.id = x.id`,
);
const countTrackables = prepared(
  "channel_url_trackables_count",
  `insert into channel_url_trackables as t (redirect_id, channel, channel_id, hits, unique_hits)
   select x.redirect_id, x.channel, x.channel_id, x.hits, x.unique_hits from json_to_recordset($1::json)
     as x (redirect_id integer, channel text, channel_id integer, hits integer, unique_hits integer)
   order by x.redirect_id, x.channel, x.channel_id
   on conflict (redirect_id, channel, channel_id)
     do update set hits = t.hits + excluded.hits, unique_hits = t.unique_hits + excluded.unique_hits`,
);

/** The status of a page that was shown, and not refused or left for another. */
const SEEN = 200;

/** Adds hits to the counters of their pages, links and channels. Machines change none; a person who may not be known does. */
export function countHits(transaction: Transaction, hits: Hit[], unique: ReadonlySet<Hit>): void {
  const counted = hits.filter(({ verdict }) => verdict !== "machine");
  const sumsBy = <K extends object>(keyOf: (hit: Hit) => K | undefined) => sumVisits(counted, unique, keyOf);
  const pages = sumsBy(({ pageId, code }) =>
    pageId === undefined || code !== SEEN ? undefined : { id: pageId },
  );
  const redirects = sumsBy(({ redirectId }) => (redirectId === undefined ? undefined : { id: redirectId }));
  const trackables = sumsBy(({ redirectId, source, sourceId }) =>
    redirectId === undefined || source === "" || sourceId === undefined
      ? undefined
      : { redirect_id: redirectId, channel: source, channel_id: sourceId },
  );
  if (pages.length > 0) transaction.execute(countPages, [JSON.stringify(pages)]);
  if (redirects.length > 0) transaction.execute(countRedirects, [JSON.stringify(redirects)]);
  if (trackables.length > 0) transaction.execute(countTrackables, [JSON.stringify(trackables)]);
}
