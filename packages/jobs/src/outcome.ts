/** The part of a job that is done, in rows, or in ids where the work goes through a range of ids. */
export interface Progress {
  done: number;
  /** The value of `done` at the end; left out while it is not known. */
  total?: number;
  /** In members of the kind. */
  result?: Record<string, unknown>;
}

/** The outcome of an attempt. `again` is no failure: the job goes on, with its progress in the payload. */
export type Outcome =
  /** Over, with what it did; with a problem where it could not do what it was to do; cancelled where a caller had it end early. */
  | { state: "done"; progress?: Progress; problem?: string; isCancelled?: boolean }
  | { state: "again"; payload: Record<string, unknown>; delaySeconds?: number; progress?: Progress }
  | { state: "failed"; delaySeconds: number }
  /** An effect was begun that cannot be repeated, and nobody knows whether it took place. */
  | { state: "unknown"; reason: string }
  | { state: "set_aside"; reason: string };
