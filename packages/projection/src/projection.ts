import type { Event } from "@tidings/bus/event";
import type { Transaction } from "@tidings/database/transaction";
import { snakeCase } from "@tidings/runtime/snake-case";

/** A replica of entities or facts that another service publishes. */
export interface Projection {
  /** The service that publishes the events: its stream. */
  owner: string;
  /** The subjects of the events that it keeps: `tidings.content.category.created`. */
  subjects: string[];
  /** True when the keys of its rows make an event take effect once: such events need no inbox, and `keep` receives repeated ones. */
  isKeyed?: boolean;
  /** Keeps events in the order of their stream. Returns the ids that are changed by them. */
  keep(transaction: Transaction, events: Event[]): Promise<number[]>;
  /** The same for rows that are built beside the live ones, and how those replace them. */
  beside?: Beside;
  /** The type whose entities the owner lists, so that the replica can be built from nothing. Each listed entity comes as an event. */
  rebuilt?: { name: string; type: string };
  /** Likewise the event type whose facts the owner lists. */
  listed?: { name: string; type: string };
}

export interface Beside {
  keep(transaction: Transaction, events: Event[]): void;
  /** Replaces the live rows in the transaction that ends the build. */
  replace(transaction: Transaction): Promise<void>;
}

/** The subject of a listed entity of this type, and of a page of listed facts: `tidings.content.category.listed`. */
export function listedSubject(type: string): string {
  const [, owner = "", , name = ""] = type.split(".");
  return `tidings.${owner}.${snakeCase(name)}.listed`;
}

/** Does a projection keep events of this subject? */
export function isKept({ subjects, rebuilt, listed }: Projection, subject: string): boolean {
  const isListed = [rebuilt, listed].some((source) => source && subject === listedSubject(source.type));
  return isListed || subjects.includes(subject);
}

/** The name of a projection's builds: its table. */
export function nameOf({ rebuilt, listed }: Projection): string | undefined {
  return (rebuilt ?? listed)?.name;
}
