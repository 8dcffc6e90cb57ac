/** SQL: may visitors have this row of a table, or of its alias, now or at another time? Categories are always published. */
export function isOpen(row: string, at = "now()"): string {
  return `(${row}.is_published and ${isWithinDates(row, at)})`;
}

/** SQL: the same of a row whose own switch is not looked at. */
export function isWithinDates(row: string, at = "now()"): string {
  return `(coalesce(${row}.publish_up <= ${at}, true) and coalesce(${row}.publish_down > ${at}, true))`;
}
