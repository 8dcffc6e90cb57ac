import type { Call } from "@tidings/rpc/call";
import type { Fault } from "@tidings/rpc/fault";
import type { Visible } from "./needs.ts";
import type { Referred } from "./reference.ts";
import type { Resource } from "./resource.ts";

export interface Stored<T> {
  message: T;
  version: number;
}

/** A row that was read to be changed, and whose it is. */
export interface Locked<T> extends Stored<T> {
  isOwn: boolean;
  isShared: boolean;
}

/** The decision about one item, made before anything is written. */
export type Outcome<T> = { fault: Fault } | Change<T>;

/** One write: who asks for it and what was read for it. */
export interface Writing<L> {
  call: Call;
  loaded: L;
  referred: Referred;
  visible: Visible;
}

export interface Change<T> {
  saved: Stored<T>;
  before: Stored<T> | undefined;
  isChanged: boolean;
}

/** When a batch changes a row twice only its last state is written. */
export function lastOfEach<T extends Resource>(outcomes: Outcome<T>[]): Outcome<T>[] {
  const last = new Map<number, Outcome<T>>();
  for (const outcome of outcomes) if (isEdit(outcome)) last.set(outcome.saved.message.id, outcome);
  return outcomes.filter((outcome) => !isEdit(outcome) || last.get(outcome.saved.message.id) === outcome);
}

export function isChange<T>(outcome: Outcome<T>): outcome is Change<T> {
  return "saved" in outcome && outcome.isChanged;
}

export function isEdit<T>(outcome: Outcome<T>): outcome is Change<T> {
  return isChange(outcome) && outcome.before !== undefined;
}
