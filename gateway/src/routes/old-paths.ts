import type { Alias } from "../route/route.ts";

/** Since when older paths are deprecated. None of them has an end: programs that use them go on unchanged. */
const SINCE = "2026-11-24T00:00:00Z";

export function oldPath(path: string): Alias[] {
  return [{ path, since: SINCE }];
}

/** Older clients have the verb first: `segments/1/contact/add/2`. */
export function oldMemberPath(resource: string, verb: "add" | "remove"): Alias[] {
  return oldPath(`/${resource}/:id/contact/${verb}/:contactId`);
}
