/** A column as clients name it: `date_added` is `dateAdded`. */
export function camelCase(column: string): string {
  return column.replaceAll(/_([a-z])/g, (_match, letter: string) => letter.toUpperCase());
}
