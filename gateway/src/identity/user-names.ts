import { prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import type { User } from "@tidings/proto/tidings/identity/v1/user";
import type { Violation } from "@tidings/rpc/fault";
import { folded } from "@tidings/runtime/folded";

/** The names that a user signs in with. */
type Names = Pick<User, "id" | "username" | "email">;

const takenStatement = prepared(
  "user_names_taken",
  "select name from user_names where name = any($1::text[]) and user_id <> $2",
);
const forgetStatement = prepared("user_names_forget", "delete from user_names where user_id = $1");
const storeStatement = prepared(
  "user_names_store",
  "insert into user_names (name, user_id) select distinct name, $2::integer from unnest($1::text[]) as name",
);

const TAKEN = {
  username: "Username is already in use. Please choose another.",
  email: "Email is already in use. Please choose another.",
};

/**
 * Names and addresses are one namespace: nobody else may have either as one of the two. Asked under the lock of all changes,
 * so that it stays true until the commit.
 */
export async function checkNames(
  transaction: Transaction,
  { id, username, email }: Names,
): Promise<Violation[]> {
  const rows = await transaction.query(takenStatement, [[folded(username), folded(email)], id]);
  const taken = new Set(rows.map(({ name }) => name));
  return Object.entries({ username, email })
    .filter(([, name]) => taken.has(folded(name)))
    .map(([field]) => ({ field, message: TAKEN[field as keyof typeof TAKEN] }));
}

/** Keeps what a user signs in with. */
export function storeNames(transaction: Transaction, { id, username, email }: Names): void {
  transaction.execute(forgetStatement, [id]);
  transaction.execute(storeStatement, [[folded(username), folded(email)], id]);
}
