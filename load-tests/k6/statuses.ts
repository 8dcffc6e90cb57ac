/** Answers are counted by these; 0 is none at all: refused or broken connections, and those that took too long. */
export const STATUSES = [
  0, 200, 201, 206, 302, 303, 304, 400, 401, 403, 404, 409, 412, 422, 429, 500, 502, 503, 504,
];
