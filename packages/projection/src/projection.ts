import type { Event } from "@tidings/bus/event";
import type { Transaction } from "@tidings/store/database";

/** What a service keeps of what a neighbour tells. */
export interface Projection {
  /** The process that tells: its stream. */
  owner: string;
  /** All events that are kept have such a subject; others may, too. A NATS filter: `tidings.content.category.*`. */
  subject: string;
  /** Is an event of this subject kept? */
  isOf(subject: string): boolean;
  /** Keeps events it has not had before, in the order of their stream. Returns the ids of what is changed by them. */
  keep(transaction: Transaction, events: Event[]): Promise<number[]>;
  /** Of things that their owner lists: what is kept can be made anew. */
  rebuilt?: { name: string; type: string };
}
