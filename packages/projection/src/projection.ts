import type { Event } from "@tidings/bus/event";
import { snakeCase } from "@tidings/runtime/snake-case";
import type { Transaction } from "@tidings/store/database";

/** A replica of entities or facts that another service publishes. */
export interface Projection {
  /** The process that tells: its stream. */
  owner: string;
  /** The subjects of the events that it keeps: `tidings.content.category.created`. */
  subjects: string[];
  /** Keeps events it has not had before, in the order of their stream. Returns the ids of what is changed by them. */
  keep(transaction: Transaction, events: Event[]): Promise<number[]>;
  /** The type whose entities the owner lists, so that the replica can be built from nothing. Each listed entity comes as an event. */
  rebuilt?: { name: string; type: string };
}

/** The subject under which a listed thing of this type comes: `tidings.content.category.listed`. */
export function listedSubject(type: string): string {
  const [, owner = "", , name = ""] = type.split(".");
  return `tidings.${owner}.${snakeCase(name)}.listed`;
}

/** Does a projection keep events of this subject? */
export function isKept({ subjects, rebuilt }: Projection, subject: string): boolean {
  return subjects.includes(subject) || (rebuilt !== undefined && subject === listedSubject(rebuilt.type));
}
