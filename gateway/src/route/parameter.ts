import { badRequest, type Fault, notFound } from "@tidings/rpc/fault";
import { ID_MAX, requiredId } from "../rest/path-id.ts";
import type { Right } from "./right.ts";
import { type Schema, TEXT } from "./schema.ts";

/** A parameter of a path: what it may be, and how it is read. */
export interface PathParameter<T> {
  schema: Schema;
  description: string;
  /** Whether a value is one at all: a path with another one is another path. */
  matches?(text: string): boolean;
  /** Throws a Fault for a value that names nothing. */
  read(text: string): T;
  /** The entity that it names, and what the caller has to be allowed to do with it. */
  entity?: NamedEntity;
}

export interface NamedEntity {
  /** The path of its resource: "contacts". */
  resource: string;
  verb: Right["verb"];
  /** The status for an entity that is there and that the caller may not see; 404 when absent. */
  hidden?: 403;
  /** The right itself is asked for before the entity is read, by another service than the one before. */
  isAskedAnew?: true;
}

const ID: Schema = { type: "integer", minimum: 1, maximum: ID_MAX };

export interface IdOptions extends Omit<NamedEntity, "resource" | "verb"> {
  /** The message for an id that no row can have. */
  missing?: string;
}

/** The id of an entity of a resource. */
export function entityId(
  resource: string,
  verb: Right["verb"],
  { missing, ...asked }: IdOptions = {},
): PathParameter<number> {
  return { ...id(`Id in ${resource}`, missing), entity: { resource, verb, ...asked } };
}

/** The id of something that has no resource of its own. A word in its place is another path, unless a message says what is missing. */
export function id(description: string, missing?: string): PathParameter<number> {
  return {
    schema: ID,
    description,
    ...(missing === undefined && { matches: (text: string) => /^\d+$/.test(text) }),
    read: (text) => requiredId(text, missing),
  };
}

const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i;

/** A UUID (RFC 9562). */
export function uuid(description: string): PathParameter<string> {
  return {
    schema: { type: "string", format: "uuid" },
    description,
    read(text) {
      if (!UUID.test(text)) throw notFound();
      return text;
    },
  };
}

/** Any text that is one segment of a path. */
export function word(description: string): PathParameter<string> {
  return { schema: TEXT, description, read: (text) => text };
}

export const POINTS: PathParameter<number> = {
  schema: { type: "integer", minimum: -ID_MAX, maximum: ID_MAX },
  description: "A whole number of points",
  read(text) {
    if (!/^-?\d{1,10}$/.test(text) || Math.abs(Number(text)) > ID_MAX) throw notPoints();
    return Number(text);
  },
};

export function notPoints(): Fault {
  return badRequest("The points must be a whole number.");
}
