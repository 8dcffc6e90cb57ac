import type { Row, Statement } from "@tidings/database/statement";
import type { Transaction } from "@tidings/database/transaction";
import type { Recipient } from "./choose-recipients.ts";
import type { ChosenBehind } from "./chosen-behind.ts";

/** A broadcast whose recipients are chosen, as its hold statement reads it. */
export interface Choosing {
  transaction: Transaction;
  id: string;
  row: Row;
}

/** How recipients of one kind of broadcasts are chosen. `R` is one of them, with all that is prepared before the transaction. */
export interface RecipientChoice<R> {
  /** Recipients that are read at a time. */
  slice: number;
  /** Reads the state, the place, the last contact (`max_contact_id`), the size of a slice (`batch`) and the segments (`lists`, `excluded_lists`) of the broadcast `$1`. */
  readStatement: Statement;
  /** Locks the broadcast `$1`, and reads whether its entity is published no more (`is_closed`), and whether it goes on for contacts that join (`follows`). */
  holdStatement: Statement;
  /** Contacts behind one that need not be read, and the last of them where there may be more. */
  chosenBehind(row: Row, after: number, deadlineMs: number): Promise<ChosenBehind>;
  /** Prepares the members who have no message yet. */
  freshOf(row: Row, members: Recipient[], deadlineMs: number): Promise<R[]>;
  /** Chooses recipients. Answers how many, and whether no more may be. */
  choose(choosing: Choosing, fresh: R[]): Promise<{ chosen: number; isFull: boolean }>;
  /** Called once all are chosen. Answers whether the broadcast waits for something before it goes on. */
  putOff?(choosing: Choosing): boolean;
}
