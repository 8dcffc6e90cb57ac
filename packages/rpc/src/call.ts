import type { Verb } from "@tidings/proto/tidings/api/v1/options";
import type { Actor } from "./actor.ts";

/** Which rows an actor reaches with a verb: every row, those it owns, or none. */
export type Reach = "all" | "own" | "none";

/** The context that every handler gets besides its request. */
export interface Call {
  actor: Actor;
  /** Milliseconds since the epoch. The database gets what is left of it as statement_timeout. */
  deadlineMs: number;
  requestId: string;
  /** How far the actor gets with another verb on the same resource. */
  reach(verb: Verb): Reach;
}
