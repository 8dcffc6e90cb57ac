import { status as Code } from "@grpc/grpc-js";

export { Code };

/** One bad field of a request: its path as the caller wrote it, and what is wrong with it. */
export interface Violation {
  field: string;
  message: string;
}

interface FaultInit {
  code: Code;
  /** Stable, UPPER_SNAKE: what a program may test. */
  reason: string;
  /** One sentence written for the caller. */
  message: string;
  violations?: Violation[];
  metadata?: Record<string, string>;
  /** Seconds after which a retry may help. */
  retryAfterSeconds?: number;
  /** For the log only. */
  cause?: unknown;
}

/** The one error of the product, from the SQL to the edge. What is not a Fault is a bug and answers as INTERNAL. */
export class Fault extends Error {
  override name = "Fault";
  readonly code: Code;
  readonly reason: string;
  readonly violations: Violation[];
  readonly metadata: Record<string, string>;
  readonly retryAfterSeconds: number | undefined;

  constructor(init: FaultInit) {
    super(init.message, { cause: init.cause });
    this.code = init.code;
    this.reason = init.reason;
    this.violations = init.violations ?? [];
    this.metadata = init.metadata ?? {};
    this.retryAfterSeconds = init.retryAfterSeconds;
  }
}

export function notFound(message = "Item was not found."): Fault {
  return new Fault({ code: Code.NOT_FOUND, reason: "NOT_FOUND", message });
}

export function denied(): Fault {
  const message = "You do not have access to the requested area/action.";
  return new Fault({ code: Code.PERMISSION_DENIED, reason: "PERMISSION_DENIED", message });
}

/** The reason of a violation where its field says enough. */
export const NOT_VALID = "This value is not valid.";

/** The reason where only these values are. */
export function notOneOf(values: Iterable<string | number>): string {
  return `${NOT_VALID} It is one of ${[...values].join(", ")}.`;
}

/** Bad input. The message joins the violations as `field: text`, the way the API prints them. */
export function invalid(violations: Violation[]): Fault {
  const message = violations.map(({ field, message }) => `${field}: ${message}`).join(", ");
  return new Fault({ code: Code.INVALID_ARGUMENT, reason: "INVALID", message, violations });
}

/** The members are valid each, and do not fit together. Each violation is an error of its own, with its path. */
export function unfit(violations: Violation[]): Fault {
  const { code, message } = invalid(violations);
  return new Fault({ code, reason: "VALIDATION", message, violations });
}

/** Bad input that belongs to no single field; `detail` says more of it. */
export function badRequest(message: string, detail?: string): Fault {
  const violations = detail === undefined ? [] : [{ field: "", message: detail }];
  return new Fault({ code: Code.INVALID_ARGUMENT, reason: "BAD_REQUEST", message, violations });
}

/** A unique value that another row already has. */
export function taken(violations: Violation[]): Fault {
  const message = violations.map(({ field, message }) => `${field}: ${message}`).join(", ");
  return new Fault({ code: Code.ALREADY_EXISTS, reason: "TAKEN", message, violations });
}

/** Something cannot go while others need it; the message names them. */
export function inUse(message: string): Fault {
  return new Fault({ code: Code.FAILED_PRECONDITION, reason: "IN_USE", message });
}

/** The state of what a request is about does not allow it. */
export function conflict(message: string): Fault {
  return new Fault({ code: Code.FAILED_PRECONDITION, reason: "CONFLICT", message });
}

export function unauthenticated(reason: string, message: string): Fault {
  return new Fault({ code: Code.UNAUTHENTICATED, reason, message });
}

export function unavailable(cause: unknown, retryAfterSeconds = 1): Fault {
  const message = "The service is not available at the moment.";
  return new Fault({ code: Code.UNAVAILABLE, reason: "UNAVAILABLE", message, retryAfterSeconds, cause });
}

export const UNREACHED = "UNREACHED";

/** No server could be reached, so the call was certainly not handled. */
export function unreached(cause: unknown): Fault {
  const { code, message } = unavailable(cause);
  return new Fault({ code, reason: UNREACHED, message, retryAfterSeconds: 1, cause });
}

export function exhausted(message: string, retryAfterSeconds = 1): Fault {
  return new Fault({ code: Code.RESOURCE_EXHAUSTED, reason: "EXHAUSTED", message, retryAfterSeconds });
}

const ANSWER_TOO_LONG = "ANSWER_TOO_LONG";

/** The answer to a call has more bytes than one message may have: the caller has to ask for less. */
export function answerTooLong(): Fault {
  const message = "The answer is too long. Ask for fewer items at once.";
  return new Fault({ code: Code.RESOURCE_EXHAUSTED, reason: ANSWER_TOO_LONG, message });
}

export function isAnswerTooLong(error: unknown): boolean {
  return error instanceof Fault && error.reason === ANSWER_TOO_LONG;
}

export function deadlineExceeded(cause?: unknown): Fault {
  const message = "The request took too long and was given up.";
  return new Fault({ code: Code.DEADLINE_EXCEEDED, reason: "DEADLINE_EXCEEDED", message, cause });
}

/** Anything thrown, as a Fault. What we did not foresee says nothing about itself to the caller. */
export function toFault(error: unknown): Fault {
  if (error instanceof Fault) return error;
  return new Fault({ code: Code.INTERNAL, reason: "INTERNAL", message: "Internal error.", cause: error });
}
