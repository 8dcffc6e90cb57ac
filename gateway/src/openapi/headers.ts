import type { Route } from "../route/route.ts";
import { COUNT, type Schema, TEXT } from "../route/schema.ts";

/** The headers of answers, by name. Those of HTTP's framing and of browsers' security are the same everywhere and not described. */
export const HEADERS: Record<string, { description: string; schema: Schema }> = {
  "Tidings-Version": { description: "The version of the process that answers", schema: TEXT },
  "X-Request-Id": {
    description: "The id of this request in logs: that of the request header, or a new one",
    schema: TEXT,
  },
  RateLimit: { description: "What is left of the limit, and until when", schema: TEXT },
  "RateLimit-Policy": { description: "The limit of requests that this one counted against", schema: TEXT },
  "X-RateLimit-Limit": { description: "The limit, as older clients read it", schema: COUNT },
  "X-RateLimit-Remaining": { description: "What is left of it, as older clients read it", schema: COUNT },
  "X-RateLimit-Reset": { description: "When it begins anew, in seconds since 1970", schema: COUNT },
  "Retry-After": { description: "Seconds until the next request is taken", schema: { type: "integer" } },
  Location: { description: "Where the new one is", schema: TEXT },
  "Tidings-Ignored": { description: "Members and parameters that were sent in vain", schema: TEXT },
  "Content-Disposition": { description: "The name of the file", schema: TEXT },
  Deprecation: { description: "Since when the path is deprecated (RFC 9745)", schema: TEXT },
  Sunset: { description: "When the deprecated path ends (RFC 8594)", schema: TEXT },
  Link: { description: "The path to use instead, or that of the next page", schema: TEXT },
  ETag: {
    description: "The tag of these bytes, and of the version of the entity that they show",
    schema: TEXT,
  },
  "Last-Modified": { description: "When the entity was changed, where it knows that", schema: TEXT },
  "Idempotency-Replayed": {
    description: "The request was answered before: this is that answer",
    schema: { const: "true" },
  },
  "WWW-Authenticate": { description: "How to sign in", schema: TEXT },
};

/** Every answer has the first two; the others are there where a limit counted the request. */
export const OF_EVERY_ANSWER = [
  "Tidings-Version",
  "X-Request-Id",
  "RateLimit",
  "RateLimit-Policy",
  "X-RateLimit-Limit",
  "X-RateLimit-Remaining",
  "X-RateLimit-Reset",
];
/** Said before it is known what the answer is. */
const OF_OLDER_PATHS = ["Deprecation", "Sunset", "Link"];

/** These headers beside those of every answer, by reference. */
function referred(names: string[]) {
  const known = Object.keys(HEADERS).filter((name) => OF_EVERY_ANSWER.includes(name) || names.includes(name));
  return Object.fromEntries(known.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

/** The headers of an answer with this status. */
export function headersOfAnswer({ method, answer, alias, isWrite }: Route, status: number) {
  const own = answer.headers ?? [];
  return referred([
    ...own.filter((name) => name !== "Location" || status === 201),
    ...(isWrite ? ["Idempotency-Replayed"] : []),
    ...(method === "GET" ? ["ETag"] : []),
    ...(alias ? OF_OLDER_PATHS.filter((name) => name !== "Sunset" || alias.sunset !== undefined) : []),
  ]);
}

/** The headers of an error, at whatever path. */
export function headersOfError(status: string) {
  return referred([
    ...OF_OLDER_PATHS,
    "Tidings-Ignored",
    ...(["409", "429", "503"].includes(status) ? ["Retry-After"] : []),
    ...(status === "401" ? ["WWW-Authenticate"] : []),
  ]);
}

/** The headers of 304, at whatever path. */
export function headersOfNotModified() {
  return referred([...OF_OLDER_PATHS, "Tidings-Ignored", "ETag", "Last-Modified"]);
}
