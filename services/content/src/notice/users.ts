import { prepared } from "@tidings/database/database";
import type { Queryable } from "@tidings/database/transaction";
import type { Mailbox } from "@tidings/mail/compose-mail";
import type { Projection } from "@tidings/projection/projection";
import { replicate } from "@tidings/projection/replicate";
import { UserSchema } from "@tidings/proto/tidings/identity/v1/user";

/** The table `users`: where users get mail, and what mails to their contacts say of them. */
export const users: Projection = replicate(UserSchema, {
  table: "users",
  columns: {
    ...{ email: "text", first_name: "text", last_name: "text", is_published: "boolean" },
    ...{ position: "text", signature: "text" },
  },
  row: ({ email, firstName, lastName, isPublished, position, signature }) => ({
    email,
    first_name: firstName,
    last_name: lastName,
    is_published: isPublished ?? false,
    position: position ?? "",
    signature: signature ?? "",
  }),
});

export interface UserMailbox extends Mailbox {
  userId: number;
}

const findStatement = prepared(
  "users_find",
  `select id, email, concat_ws(' ', first_name, last_name) as name from users
   where is_published and email <> '' and (id = any ($1::integer[]) or lower(email) = any ($2::text[])) order by id`,
);

/** The mailboxes of published users that have one of these ids or addresses. */
export async function findMailboxes(
  { query }: Queryable,
  { ids = [], addresses = [] }: { ids?: number[]; addresses?: string[] },
): Promise<UserMailbox[]> {
  const rows = await query(findStatement, [ids, addresses.map((address) => address.toLowerCase())]);
  return rows.map(({ id, email, name }) => ({
    userId: Number(id),
    address: email ?? "",
    name: name?.trim() ?? "",
  }));
}
