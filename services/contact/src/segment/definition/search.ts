import { containingCommand, type SearchCommand } from "@tidings/resource/search";
import { sql } from "kysely";

/** Search commands of the list of segments besides those of every list. */
export const segmentListCommands: ReadonlyMap<string, SearchCommand> = new Map<string, SearchCommand>([
  ["is", ({ text }) => (text === "global" ? sql`is_global` : undefined)],
  ["name", containingCommand(sql`name`)],
]);
