import { backgroundDeadline, type Database, prepared } from "@tidings/database/database";

const readStatement = prepared("contact_fields_aliases", "select alias from contact_fields");
const KEPT_MS = 1_000;

/** Aliases of all fields of contacts and companies, at most a second old. While the database is away those of before are used. */
export type FieldAliases = () => Promise<ReadonlySet<string>>;

export function fieldAliases(database: Database): FieldAliases {
  let aliases: Set<string> = new Set();
  let reading: Promise<void> | undefined;
  let readAt = Number.NEGATIVE_INFINITY;
  const read = async () => {
    const rows = await database.query(readStatement, [], backgroundDeadline());
    aliases = new Set(rows.map(({ alias }) => alias ?? ""));
  };
  return async () => {
    if (performance.now() - readAt > KEPT_MS) {
      readAt = performance.now();
      reading = read().catch(() => undefined); // the hit itself says that the database is away
    }
    await reading;
    return aliases;
  };
}
