import type { Row } from "@tidings/database/statement";
import type { Transaction } from "@tidings/database/transaction";
import type { DomainEvent } from "@tidings/messaging/outbox";
import type { Call } from "@tidings/rpc/call";
import type { Expected } from "@tidings/rpc/expected";
import type { Fault, Violation } from "@tidings/rpc/fault";
import type { FieldCatalogue, FieldSet } from "../field/catalogue.ts";
import type { ChangeMode, FieldValues } from "../field/values.ts";
import type { RecordTable } from "../rows/table.ts";
import type { OwnerColumn } from "./reach.ts";

/** One record to be saved. Without an id it is created, or found by a unique identifier and then edited. */
export interface SaveRequest<M> {
  id?: number;
  message: M | undefined;
  /** PUT: clear what is not sent. */
  isReplaced?: boolean;
  /** Create it when the id is missing. */
  allowMissing?: boolean;
  /** Create it even if another record has its identifiers. */
  isNew?: boolean;
  /** Versions that the caller expects: of its own call, since calls share writes. */
  expected?: Expected | undefined;
}

export type SaveOutcome = { row: Row; created: boolean; ignored: string[] } | { fault: Fault };

/** The change that a body asks for, as far as it concerns fields. */
export interface RecordChange {
  stage?: number | null | undefined;
  values: FieldValues;
  /** The body's members by field alias, as they were sent. */
  sent: Record<string, unknown>;
  /** Null is nobody. */
  owner?: number | null | undefined;
}

/** How a record is to become. */
export interface Application<C, L> {
  row: Row;
  isNew: boolean;
  mode: ChangeMode;
  change: C;
  set: FieldSet;
  /** In the text form of a timestamptz. */
  now: string;
  call: Call;
  lookups: L;
}

/** A record after a change: a row with its stamps, or as it was, or the reason of a refusal. */
export type Applied = Row | "unchanged" | Fault;

/** A record that is written: as it was (undefined: not there) and as it will be. */
export interface RowChange {
  before: Row | undefined;
  row: Row;
}

/** The parts that differ between contacts and companies. `L` holds the look-ups of a batch for all its items. */
export interface RecordKind<M, C extends RecordChange, L> {
  /** The message of a record. */
  type: string;
  table: RecordTable;
  ownerColumn: OwnerColumn;
  empty: Row;
  fieldsOf(catalogue: FieldCatalogue): FieldSet;
  read(message: M | undefined, mode: ChangeMode, set: FieldSet): { change: C; violations: Violation[] };
  lookUp(transaction: Transaction, changes: C[], call: Call): Promise<L>;
  apply(application: Application<C, L>): Applied;
  /** Writes related rows, in the same transaction. */
  writeRest(
    transaction: Transaction,
    changes: RowChange[],
    lookups: L,
    catalogue: FieldCatalogue,
  ): Promise<void> | undefined;
  /** The event of a save, with all that it changed. */
  event(change: RowChange, set: FieldSet): DomainEvent;
}
