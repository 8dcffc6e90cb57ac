import { closed, type Schema } from "../route/schema.ts";

const DETAILS: Schema = {
  oneOf: [
    { type: "object", additionalProperties: { type: "array", items: { type: "string" } } },
    { type: "array", items: { type: "string" } },
    { type: "string" },
  ],
};

/** The body of every error, and of those that a batch has beside its items. */
export const ERRORS: Schema = closed({
  errors: {
    type: "array",
    minItems: 1,
    items: closed(
      { code: { type: "integer" }, message: { type: "string" }, details: DETAILS, type: { type: "string" } },
      ["type"],
    ),
  },
});

/** The meaning of each status of an error. */
export const MEANINGS: Record<number, string> = {
  400: "Something in the request is not valid: the entries name it",
  401: "Nobody is signed in, or with a credential that is not valid",
  403: "The caller has no right to do this",
  404: "There is no such entity, or none that the caller may see",
  406: "The file is none of those that are taken",
  408: "The body came too slowly",
  409: "The state of the entity does not allow this",
  412: "Somebody changed the entity since the caller read it",
  413: "The body is too large",
  417: "The expectation cannot be met",
  422: "The values contradict what is there",
  428: "Something else has to be done first",
  431: "The path or a header is too long",
  429: "Too many requests: `Retry-After` says when the next one is taken",
  500: "Something went wrong on our side",
  503: "A part of the service cannot be reached: `Retry-After` says when to try again",
  504: "The answer took too long",
};

/** Every request may get these. */
const ALWAYS = [400, 401, 403, 417, 429, 431, 500, 503, 504];
/** Requests whose body is read may get these too. */
const OF_BODIES = [408, 413];

export interface ErrorsOf {
  method: string;
  hasParameters: boolean;
  hasBody: boolean;
  own: number[];
}

/** The statuses of errors that a route may answer. */
export function errorStatuses({ method, hasParameters, hasBody, own }: ErrorsOf): number[] {
  const isWrite = method !== "GET";
  const statuses = [
    ...ALWAYS,
    ...(hasParameters ? [404] : []),
    ...(hasBody || (isWrite && method !== "DELETE") ? OF_BODIES : []),
    // A write may contradict what is there, or what another one does meanwhile.
    ...(isWrite ? [409, 412, 422] : []),
    ...own,
  ];
  return [...new Set(statuses)].toSorted((one, other) => one - other);
}
