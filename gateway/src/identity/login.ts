import { type Database, prepared } from "@tidings/store/database";

export interface Login {
  userId: number;
  /** Undefined for a user that was never given a password. */
  passwordHash: string | undefined;
}

const findStatement = prepared(
  "users_by_login",
  `select id, password_hash from users
   where is_published and (lower(username) = lower($1) or lower(email) = lower($1))
   order by lower(username) = lower($1) desc limit 1`,
);

/** The published user of a username or email address. */
export async function findLogin(
  database: Database,
  login: string,
  deadlineMs: number,
): Promise<Login | undefined> {
  const [row] = await database.query(findStatement, [login], deadlineMs);
  return row && { userId: Number(row.id), passwordHash: row.password_hash ?? undefined };
}

const noteStatement = prepared("user_signed_in", "update users set last_login = now() where id = $1");

export async function noteLogin(database: Database, userId: number, deadlineMs: number): Promise<void> {
  await database.query(noteStatement, [userId], deadlineMs);
}
