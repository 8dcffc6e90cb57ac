import { setTimeout as pause } from "node:timers/promises";
import type { Client } from "./client.ts";

/** A creation that was asked for, and how it was answered. */
export interface Creation {
  email: string;
  status: number;
  /** The id of the contact, when there is one. */
  id: number | undefined;
}

export interface Load {
  /** Everything that was answered so far. */
  creations: Creation[];
  /** Creations that were answered 2xx. */
  kept(): Creation[];
  /** Done when everything that was asked is answered. */
  stop(): Promise<void>;
}

const WRITERS = 6;
/** A client that gets 429 or 503 pauses. */
const RETRY_AFTER_MS = 50;

/** Creates contacts, one after the other in each of a few writers, until it is stopped. */
export function startCreating(api: Client, name: string): Load {
  const creations: Creation[] = [];
  let isStopped = false;
  const write = async (writer: number) => {
    for (let index = 0; !isStopped; index++) {
      const email = `${name}-${writer}-${index}@example.com`;
      const { status, body } = await api("POST", "contacts/new", { email });
      creations.push({ email, status, id: body.contact?.id });
      if (status === 503) await pause(RETRY_AFTER_MS);
    }
  };
  const writers = Promise.all(Array.from({ length: WRITERS }, (_, writer) => write(writer)));
  writers.catch(() => undefined); // `stop` throws it
  return {
    creations,
    kept: () => creations.filter(({ status }) => status < 300),
    stop: async () => {
      isStopped = true;
      await writers;
    },
  };
}
