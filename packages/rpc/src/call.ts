import type { Verb } from "@tidings/proto/tidings/api/v1/options";
import type { Actor } from "./actor.ts";
import type { Expected } from "./expected.ts";

/** Which rows an actor reaches with a verb: every row, those it owns, or none. */
export type Reach = "all" | "own" | "none";

/** The context that every handler gets besides its request. */
export interface Call {
  actor: Actor;
  /** Milliseconds since the epoch. The database gets what is left of it as statement_timeout. */
  deadlineMs: number;
  requestId: string;
  /** Names the request where it came with an idempotency key: the same name whenever the caller sends it again. The key is not found out from it. */
  repeatName?: string | undefined;
  /** Versions that entities must have to be changed. */
  expected?: Expected | undefined;
  /** Says which version of an entity the answer shows: its ETag is made of that. */
  showsVersion?(version: number): void;
  /** Says which position follows the page that is answered (ListQuery.after). */
  showsNext?(position: string): void;
  /** How far the actor gets with another verb on the same resource. */
  reach(verb: Verb): Reach;
}
