import type { FieldMask } from "@bufbuild/protobuf/wkt";
import type { Database } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import type { Outbox } from "@tidings/messaging/outbox";
import type { ItemStatus } from "@tidings/proto/tidings/type/v1/batch";
import type { ListQuery } from "@tidings/proto/tidings/type/v1/list";
import type { Call } from "@tidings/rpc/call";
import type { Fault, Violation } from "@tidings/rpc/fault";
import type { Sent } from "./draft.ts";
import type { FindVisible, Need } from "./needs.ts";
import type { OwnershipOptions } from "./ownership.ts";
import type { ReferenceKind } from "./reference.ts";
import type { Resource } from "./resource.ts";
import type { ListOptions } from "./resource-list.ts";
import type { Deletion } from "./row-statements.ts";

/** The dependencies of a service's repositories. */
export interface ResourceContext {
  database: Database;
  outbox: Outbox;
  /** The kinds of entities its resources refer to, by name. */
  references?: Record<string, ReferenceKind>;
  /** Finds entities that properties name. Needed by repositories with the option `needs`. */
  findVisible?: FindVisible;
}

export interface RepositoryOptions<T extends Resource, L = undefined>
  extends ListOptions,
    Omit<OwnershipOptions, "table"> {
  /** Its permissions have no publish actions: who may write a row publishes it. Otherwise that takes their right. */
  freelyPublished?: boolean;
  /** Whether deleted rows are removed or kept; removed when absent. */
  deletion?: Deletion;
  /** Work that a write awaits before its transaction. */
  before?(messages: (T | undefined)[], call: Call): Promise<unknown>;
  /** Reads data for `prepare`, once for all items of a write, at the start of its transaction. `ids` are the rows to be edited. */
  load?(transaction: Transaction, call: Call, messages: (T | undefined)[], ids: number[]): Promise<L>;
  /** Brings a draft into the form in which it is kept, in place, before its values are judged; what is too long is not. */
  clean?(draft: T, before: T | undefined): void;
  /**
   * Called with the complete new state once it keeps the rules of its message: may fill defaults in place, returns what is
   * wrong with it, or why it cannot be although nothing is wrong. `sent` is what it was made of.
   */
  prepare?(
    draft: T,
    context: { before: T | undefined; call: Call; loaded: L; sent: Sent<T> },
  ): Violation[] | Fault;
  /** Entities that the message names and actions that it causes. A message as it was sent may be partial, without types. */
  needs?(message: T): Need[];
  /** Called in the transaction of a write with what it changed: what follows from it is written with it. */
  changed?(transaction: Transaction, changes: Changed<T>[]): Promise<void> | void;
  /** Completes what a caller is shown, in place. After a write this is a part of its transaction, which `database` joins. */
  show?(items: T[], call: Call, database: Database): Promise<void>;
}

/** A row as it was (undefined: not there) and as it is (undefined: gone). */
export interface Changed<T> {
  before: T | undefined;
  after: T | undefined;
}

export interface Saved<T> {
  item: T;
  created: boolean;
}

export interface Update<T> {
  id: number;
  message: T | undefined;
  updateMask: FieldMask | undefined;
  allowMissing: boolean;
  removed?: Sent["removed"];
}

export interface BatchResult<T> {
  items: T[];
  statuses: ItemStatus[];
}

export interface Repository<T extends Resource> {
  get(id: number, call: Call): Promise<T>;
  list(query: ListQuery | undefined, call: Call): Promise<{ items: T[]; totalSize: number; ids: number[] }>;
  create(message: T | undefined, call: Call): Promise<Saved<T>>;
  update(update: Update<T>, call: Call): Promise<Saved<T>>;
  delete(id: number, call: Call): Promise<T>;
  batchCreate(messages: (T | undefined)[], call: Call): Promise<BatchResult<T>>;
  batchUpdate(updates: Update<T>[], call: Call): Promise<BatchResult<T>>;
  batchDelete(ids: number[], call: Call): Promise<BatchResult<T>>;
}
