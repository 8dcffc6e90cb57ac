import {
  badRequest,
  Code,
  deadlineExceeded,
  Fault,
  taken,
  toFault,
  unavailable,
  type Violation,
} from "@tidings/rpc/fault";
import { DatabaseError } from "pg";
import { camelCase } from "./camel-case.ts";

/** The unique constraint that a write broke, if that is what failed. */
export function violatedConstraint(error: unknown): string | undefined {
  const cause = error instanceof Fault ? error.cause : error;
  return cause instanceof DatabaseError && cause.code === "23505" ? cause.constraint : undefined;
}

/**
 * May a transaction that failed so have been committed all the same? A database that goes away, or falls silent, says nothing of
 * that; everything else ends it before.
 */
export function mayBeCommitted(error: unknown): boolean {
  if (!(error instanceof Fault)) return false;
  if (error.code !== Code.UNAVAILABLE && error.code !== Code.DEADLINE_EXCEEDED) return false;
  const { cause } = error;
  return !(cause instanceof DatabaseError) || /^(08|57P|58)/.test(cause.code ?? "");
}

/** Statements behind one that failed are refused for that alone: "current transaction is aborted". */
export function isAfterFailure(error: unknown): boolean {
  return sqlState(error) === "25P02";
}

/** Serialization failure, deadlock, and a reference to a row that was deleted since it was looked up. */
const RETRYABLE = new Set(["40001", "40P01", "23503"]);

/** May a transaction that failed so succeed when it is run again? */
export function isRetryable(error: unknown): boolean {
  return RETRYABLE.has(sqlState(error) ?? "");
}

/** The SQLSTATE (PostgreSQL, appendix A) of the statement whose failure this is; undefined for any other failure. */
export function sqlState(error: unknown): string | undefined {
  const cause = error instanceof Fault ? error.cause : undefined;
  return cause instanceof DatabaseError ? cause.code : undefined;
}

/** The Fault for a failed statement. Driver texts stay in its cause. */
export function databaseFault(error: unknown): Fault {
  if (!(error instanceof DatabaseError)) return unavailable(error); // the connection, not the statement
  const code = error.code ?? "";
  if (code === "57014") return deadlineExceeded(error);
  if (code === "23505") return withCause(taken(takenFields(error)), error);
  if (code.startsWith("22")) return withCause(badRequest("A value is not valid."), error);
  // More parameters or a larger row than Postgres takes: the caller has to ask for less.
  if (code === "08P01" || code.startsWith("54")) return withCause(badRequest("A value is too large."), error);
  // Among these: the disk is full (53100), or fails (58030).
  if (/^(08|53|57P|58|55P03|25P03|40)/.test(code)) return unavailable(error);
  return toFault(error);
}

/** The members whose value somebody has: the driver names columns, as in `Key (alias)=(x) already exists.` */
function takenFields({ detail = "" }: DatabaseError): Violation[] {
  const [, columns = ""] = /^Key \(([a-z_, ]{1,200})\)=/.exec(detail) ?? [];
  const names = columns.split(", ").filter((name) => name !== "");
  return names.map((name) => ({
    field: camelCase(name),
    message: "This value is already in use.",
  }));
}

function withCause(fault: Fault, cause: DatabaseError): Fault {
  const { code, reason, message, violations } = fault;
  return new Fault({ code, reason, message: message || "A value is already in use.", violations, cause });
}
