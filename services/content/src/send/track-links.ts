import { backgroundDeadline, type Database, prepared } from "@tidings/database/database";
import { newRedirectId } from "../visit/redirects.ts";

/** The names of tracked links by their addresses: `/r/<name>` leads there. */
export type TrackLinks = (addresses: string[]) => Promise<ReadonlyMap<string, string>>;

/** Leaves all links as they are. */
export const untracked: TrackLinks = async () => new Map();

/** An address has one link, whichever messages it stands in; each message counts its own clicks. */
const trackStatement = prepared(
  "page_redirects_track",
  `with asked as (
     select a.url, a.redirect_id from unnest($1::text[], $2::text[]) as a (url, redirect_id)
   ), known as (
     select distinct on (asked.url) asked.url, r.id, r.redirect_id from asked join page_redirects r
       on md5(r.url) = md5(asked.url) and r.url = asked.url order by asked.url, r.id
   ), made as (
     insert into page_redirects (url, redirect_id)
     select url, redirect_id from asked where url not in (select url from known) returning url, id, redirect_id
   ), found as (select * from known union all select * from made
   ), noted as (
     insert into channel_url_trackables (redirect_id, channel, channel_id)
     select id, $3, $4::integer from found on conflict do nothing)
   select url, redirect_id from found`,
);
const LINKS_MAX = 5_000;
const ADDRESS_LENGTH_MAX = 8_000;

/** Finds the links of a message, and makes those that are not there. Links above 5,000, and very long ones, are left as they are. */
export function linkTracker(
  database: Database,
  { channel, channelId }: { channel: "email" | "sms" | "tweet" | "notification"; channelId: number },
): TrackLinks {
  return async (addresses) => {
    const tracked = addresses.filter(({ length }) => length <= ADDRESS_LENGTH_MAX).slice(0, LINKS_MAX);
    if (tracked.length === 0) return new Map();
    const values = [tracked, tracked.map(newRedirectId), channel, channelId];
    const rows = await database.query(trackStatement, values, backgroundDeadline());
    return new Map(rows.map(({ url, redirect_id }) => [url ?? "", redirect_id ?? ""]));
  };
}
