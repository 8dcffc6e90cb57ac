import type { Actor } from "@tidings/rpc/actor";
import { backgroundDeadline, type Database, prepared } from "@tidings/store/database";
import { hashPassword } from "./password.ts";

export interface UserCredentials {
  actor: Actor;
  passwordHash: string;
}

const findStatement = prepared(
  "users_by_login",
  `select id, first_name, last_name, is_admin, password_hash from users
   where is_published and (lower(username) = lower($1) or lower(email) = lower($1))
   order by lower(username) = lower($1) desc limit 1`,
);

/** The published user of a username or email address. */
export async function findUserByLogin(
  database: Database,
  login: string,
  deadlineMs: number,
): Promise<UserCredentials | undefined> {
  const [row] = await database.query(findStatement, [login], deadlineMs);
  if (!row) return undefined;
  const actor: Actor = {
    kind: "user",
    id: Number(row.id),
    name: `${row.first_name} ${row.last_name}`.trim(),
    admin: row.is_admin === "t",
    permissions: {},
  };
  return { actor, passwordHash: row.password_hash ?? "" };
}

const upsertAdministrator = {
  text: `insert into users (username, email, first_name, last_name, is_admin, password_hash)
    values ($1, $1 || '@localhost', 'Admin', 'User', true, $2)
    on conflict (lower(username)) do update
    set password_hash = excluded.password_hash, is_admin = true, is_published = true,
        version = users.version + 1, date_modified = now()`,
};

/** Gateways that start at once do this one after the other: a new row could clash with another's on either name. */
const lockAdministrator = { text: "select pg_advisory_xact_lock(hashtext('administrator'))" };

/** Makes sure the administrator exists and has this password. Several gateways may do so at once. */
export async function ensureAdministrator(
  database: Database,
  username: string,
  password: string,
): Promise<void> {
  const passwordHash = await hashPassword(password);
  await database.transaction(backgroundDeadline(), async (transaction) => {
    await transaction.query(lockAdministrator);
    transaction.execute(upsertAdministrator, [username, passwordHash]);
  });
}
