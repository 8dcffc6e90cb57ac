import { containingCommand, type SearchCommand } from "@tidings/store/search";
import { sql } from "kysely";

/** What the list of segments can be searched for besides what every list can. */
export const segmentListCommands: ReadonlyMap<string, SearchCommand> = new Map<string, SearchCommand>([
  ["is", ({ text }) => (text === "global" ? sql`is_global` : undefined)],
  ["name", containingCommand(sql`name`)],
]);
