import { containingCommand, type SearchCommand } from "@tidings/store/search";
import { sql } from "kysely";

/** What the list of segments can be searched for besides what every list can. */
export const segmentListCommands: ReadonlyMap<string, SearchCommand> = new Map<string, SearchCommand>([
  ["is", ({ text }) => (text === "global" ? sql`is_global` : undefined)],
  ["name", containingCommand(sql`name`)],
]);

/** `segment:alias`: members of one segment; `common:one+two`: of each of them. Exact, and nobody for an unknown alias. */
export const segmentCommands: ReadonlyMap<string, SearchCommand> = new Map<string, SearchCommand>([
  ["segment", ({ text }) => memberOf(text)],
  ["common", ({ text }) => sql`(${sql.join(text.split("+").map(memberOf), sql` and `)})`],
]);

function memberOf(alias: string) {
  return sql`c.id in (select m.contact_id from segment_contacts m
    where m.segment_id = (select s.id from segments s where s.alias = ${alias}) and not m.manually_removed)`;
}
