import type { Occurrence } from "./occurrence.ts";

/**
 * The text a receiver gets: an object with the trigger's name and a list of one item. The contact is put in as the JSON
 * text it comes as; only that of a deleted contact is taken apart, to clear its id.
 */
export function bodyOf(trigger: string, occurrence: Occurrence, contact: string): string {
  const { deletedId, points, event } = occurrence;
  const members =
    deletedId === undefined
      ? [`"contact":${contact}`]
      : [`"id":${deletedId}`, `"contact":${JSON.stringify({ ...JSON.parse(contact), id: null })}`];
  if (points) members.push(`"points":${JSON.stringify(points)}`);
  members.push(`"timestamp":${JSON.stringify(isoSeconds(event.time))}`);
  return `{${JSON.stringify(trigger)}:[{${members.join(",")}}]}`;
}

/** `2026-11-20T10:00:00+00:00`, as all dates of the API. */
function isoSeconds(time: string): string {
  return `${new Date(time).toISOString().slice(0, 19)}+00:00`;
}
