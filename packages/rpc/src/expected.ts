import { Code, Fault } from "./fault.ts";

/** Versions of entities that a caller has seen: a change of others is refused (If-Match, RFC 9110, 13.1.1). */
export interface Expected {
  /** The message of the entities: `tidings.contact.v1.Tag`. */
  type: string;
  entities: ExpectedEntity[];
}

export interface ExpectedEntity {
  id: number;
  /** Any of these. Without one, any version that is there; of an entity that is `missing`, none. */
  versions: number[];
  /** The caller expects that it is not there yet (If-None-Match: *). */
  missing?: boolean;
}

/** A call that may expect versions. */
interface Expecting {
  expected?: Expected | undefined;
}

/** Why the caller may not change the entity: its version, undefined where it is not there, is not what the caller expects. */
export function unexpected(
  { expected }: Expecting,
  type: string,
  { id, version }: { id: number; version: number | undefined },
): Fault | undefined {
  if (expected?.type !== type) return undefined;
  const isOther = (entity: ExpectedEntity) => entity.id === id && !isAsExpected(entity, version);
  return expected.entities.some(isOther) ? preconditionFailed() : undefined;
}

/** The same, thrown. */
export function requireExpected(
  call: Expecting,
  type: string,
  entity: { id: number; version: number | undefined },
): void {
  const fault = unexpected(call, type, entity);
  if (fault) throw fault;
}

function isAsExpected({ versions, missing }: ExpectedEntity, version: number | undefined): boolean {
  if (missing) return version === undefined;
  return version !== undefined && (versions.length === 0 || versions.includes(version));
}

export function preconditionFailed(): Fault {
  const message = "It is not as the request expects: somebody changed it since. Read it again.";
  return new Fault({ code: Code.FAILED_PRECONDITION, reason: "PRECONDITION_FAILED", message });
}
