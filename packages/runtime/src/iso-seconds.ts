/** `2026-11-20T10:00:00+00:00`, as all dates of the API. */
export function isoSeconds(date: Date): string {
  return `${date.toISOString().slice(0, 19)}+00:00`;
}
