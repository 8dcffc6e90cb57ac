/**
 * The states of a row in a table of jobs. A job that is done is deleted, or has a final state of its own table.
 *
 *     waiting ──begin──▶ started ──record──▶ (done, waiting, set_aside)
 *                           └── lease expired ──▶ unknown
 */
export const JobState = {
  /** May be claimed once it is due. While a worker holds it, the due time is the end of the lease. */
  WAITING: "waiting",
  /** The holder of the lease has begun an effect that cannot be repeated. */
  STARTED: "started",
  /** It was started and its worker died: nobody knows whether the effect took place. It is never claimed again by itself. */
  UNKNOWN: "unknown",
  /** Given up with a reason, until an operator replays it. */
  SET_ASIDE: "set_aside",
} as const;

export type JobState = (typeof JobState)[keyof typeof JobState];
