/** Milliseconds in which 95 and 99 of 100 answers have come, under the load that is expected. */
export interface Limit {
  p95: number;
  p99: number;
}

/** One entity by its id. */
export const READ: Limit = { p95: 100, p99: 250 };
/** A page of a list with its total. */
export const LIST: Limit = { p95: 200, p99: 500 };
/** One entity made, changed or deleted, with its event. */
export const WRITE: Limit = { p95: 200, p99: 500 };
/** Two hundred entities at once. */
export const BATCH: Limit = { p95: 800, p99: 2_000 };
/** A mail, or those of a broadcast: the answer comes once they were handed over. */
export const SENT: Limit = { p95: 1_000, p99: 2_000 };
/** A page or a file for visitors, or a hit: each is answered once it is recorded. */
export const VISIT: Limit = { p95: 200, p99: 500 };
/** A page for people, a password, a token. */
export const SIGN_IN: Limit = { p95: 400, p99: 1_000 };
/** The limit of effects that follow a change: from its answer until a receiver or a reader can see them. */
export const FOLLOWING: Limit = { p95: 1_000, p99: 2_000 };
