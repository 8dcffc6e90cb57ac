import { type Database, prepared } from "@tidings/database/database";
import { folded } from "@tidings/runtime/folded";
import { appendAudit } from "./audit.ts";

export interface Login {
  userId: number;
  /** Undefined for a user that was never given a password. */
  passwordHash: string | undefined;
}

const findStatement = prepared(
  "users_by_login",
  `select u.id, u.password_hash from user_names n join users u on u.id = n.user_id
   where n.name = $1 and u.is_published`,
);

/** The published user of a username or email address. */
export async function findLogin(
  database: Database,
  login: string,
  deadlineMs: number,
): Promise<Login | undefined> {
  const [row] = await database.query(findStatement, [folded(login)], deadlineMs);
  return row && { userId: Number(row.id), passwordHash: row.password_hash ?? undefined };
}

const signedInStatement = prepared("user_signed_in", "update users set last_login = now() where id = $1");

export interface Attempted {
  login: string;
  clientIp: string;
  /** Undefined when the password was not right. */
  userId: number | undefined;
}

const LOGIN_MAX = 191;

/** Notes that a password was right or wrong. */
export async function noteLogin(
  database: Database,
  { login, clientIp, userId }: Attempted,
  deadlineMs: number,
): Promise<void> {
  const name = login.slice(0, LOGIN_MAX);
  const action = userId === undefined ? "login_failed" : "login";
  const actor = userId === undefined ? undefined : { kind: "user", id: userId, name };
  const object = { objectType: "user", objectId: String(userId ?? "") };
  await database.transaction(deadlineMs, async (transaction) => {
    if (userId !== undefined) transaction.execute(signedInStatement, [userId]);
    await appendAudit(transaction, [{ action, actor, clientIp, ...object, details: { login: name } }]);
  });
}
