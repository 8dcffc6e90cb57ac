/** SQL: may visitors have this row of a table, or of its alias, now? */
export function isOpenNow(row: string): string {
  return `(${row}.is_published and coalesce(${row}.publish_up <= now(), true) and coalesce(${row}.publish_down > now(), true))`;
}
