import { AsyncLocalStorage } from "node:async_hooks";
import type { Actor } from "./actor.ts";

const storage = new AsyncLocalStorage<Actor>();

/** Does work for an actor: its events name that actor. */
export function actingAs<T>(actor: Actor, work: () => T): T {
  return storage.run(actor, work);
}

/** The actor of the present call; undefined in background work. */
export function currentActor(): Actor | undefined {
  return storage.getStore();
}
