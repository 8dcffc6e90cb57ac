import { create } from "@bufbuild/protobuf";
import { FieldMaskSchema } from "@bufbuild/protobuf/wkt";
import { Verb } from "@tidings/proto/tidings/api/v1/options";
import { type User, UserSchema } from "@tidings/proto/tidings/identity/v1/user";
import type { Call } from "@tidings/rpc/call";
import { Code, denied, Fault, type Violation } from "@tidings/rpc/fault";
import { type Database, prepared, type Transaction } from "@tidings/store/database";
import type { Outbox } from "@tidings/store/outbox";
import { repository, type Saved, type Update } from "@tidings/store/repository";
import { sql } from "kysely";
import { audited, type Single } from "./audited.ts";
import { changeIdentity, requireAdministrator } from "./change.ts";
import { newPassword } from "./new-password.ts";
import { hashPassword } from "./password.ts";
import { isWithin } from "./permissions.ts";
import { userCommands } from "./search.ts";
import { checkUser } from "./user-draft.ts";
import { findRoles, sentRoleId, showRoles } from "./user-role.ts";

export interface UserChanges {
  create(user: User | undefined, call: Call): Promise<Saved<User>>;
  update(update: Update<User>, call: Call): Promise<Saved<User>>;
  delete(id: number, call: Call): Promise<Saved<User>>;
}

const ROLE_NAME = sql`(select r.name from roles r where r.id = role_id)`;

/** Users without what is kept beside them: their role is an id. */
export function userRepository(database: Database, outbox: Outbox, problems: Violation[] = []) {
  return repository<User>(database, outbox, UserSchema, {
    table: "users",
    events: "tidings.identity.user",
    search: ["username", "email", "first_name", "last_name", "position", ROLE_NAME],
    order: ["last_name", "first_name", "username"].map((column) => ({ column, descending: false })),
    commands: userCommands,
    freelyPublished: true,
    prepare: (draft) => [...checkUser(draft), ...problems],
  });
}

/** The changes of users with their rules; each is a transaction of its own. */
export function userChanges(database: Database, outbox: Outbox): UserChanges {
  const createUser = async (sent: User | undefined, call: Call): Promise<Saved<User>> => {
    const user = create(UserSchema, sent);
    const password = newPassword(user);
    const hash = "password" in password ? await hashPassword(password.password) : undefined;
    return changeIdentity(database, call.deadlineMs, async (transaction, joined) => {
      user.roleId = sentRoleId(user);
      const problems = [
        ...(await checkNames(transaction, user)),
        ...(await checkRole(joined, user.roleId, call)),
        ...("problem" in password ? [{ field: "plainPassword", message: password.problem }] : []),
      ];
      const saved = await usersIn(transaction, joined, problems).create(user, call);
      if (hash) storePassword(transaction, saved.item.id, hash);
      await showRoles(joined, [saved.item], call.deadlineMs);
      return saved;
    });
  };

  const updateUser = async (update: Update<User>, call: Call): Promise<Saved<User>> => {
    if (update.allowMissing && !(await exists(database, update.id, call))) {
      if (call.reach(Verb.CREATE) === "none") throw denied();
      return createUser(update.message, call);
    }
    return changeIdentity(database, call.deadlineMs, async (transaction, joined) => {
      const before = await usersIn(transaction, joined).get(update.id, call);
      await requireRightsOf(joined, before, call);
      const { message, updateMask } = changeOf(update, before);
      const problems = [
        ...(await checkNames(transaction, { ...message, id: before.id })),
        ...(message.roleId === before.roleId ? [] : await checkRole(joined, message.roleId, call)),
      ];
      const change = { id: before.id, message, updateMask, allowMissing: false };
      const saved = await usersIn(transaction, joined, problems).update(change, call);
      await requireAdministrator(transaction);
      await showRoles(joined, [saved.item], call.deadlineMs);
      return saved;
    });
  };

  const deleteUser = (id: number, call: Call): Promise<Saved<User>> =>
    changeIdentity(database, call.deadlineMs, async (transaction, joined) => {
      const users = usersIn(transaction, joined);
      const before = await users.get(id, call);
      if (id === call.actor.id) throw self();
      await requireRightsOf(joined, before, call);
      const item = await users.delete(id, call);
      await requireAdministrator(transaction);
      await showRoles(joined, [item], call.deadlineMs);
      return { item, created: false };
    });

  const usersIn = (transaction: Transaction, joined: Database, problems?: Violation[]): Single<User> =>
    audited(userRepository(joined, outbox, problems), {
      transaction,
      schema: UserSchema,
      objectType: "user",
    });

  return { create: createUser, update: updateUser, delete: deleteUser };
}

/** A username never changes, and a replacement keeps the role. What is not to change is as before in the message. */
function changeOf({ message, updateMask }: Update<User>, before: User) {
  const changed = create(UserSchema, message);
  changed.username = before.username;
  const sent = updateMask?.paths ?? [];
  const isReplaced = sent.includes("*");
  changed.roleId = sent.includes("role") && !isReplaced ? sentRoleId(changed) : before.roleId;
  const paths = isReplaced ? sent : [...sent.filter((path) => path !== "role"), "role_id"];
  return { message: changed, updateMask: create(FieldMaskSchema, { paths }) };
}

const existsStatement = prepared("user_exists", "select 1 from users where id = $1");

async function exists(database: Database, id: number, call: Call): Promise<boolean> {
  return (await database.query(existsStatement, [id], call.deadlineMs)).length > 0;
}

const passwordStatement = prepared("user_password", "update users set password_hash = $2 where id = $1");

export function storePassword(transaction: Transaction, userId: number, hash: string): void {
  transaction.execute(passwordStatement, [userId, hash]);
}

const takenStatement = prepared(
  "user_names_taken",
  `select lower(username) = lower($1) as username, lower(email) = lower($2) as email from users
   where (lower(username) = lower($1) or lower(email) = lower($2)) and id <> $3`,
);

const TAKEN = {
  username: "Username is already in use. Please choose another.",
  email: "Email is already in use. Please choose another.",
};

/** Nobody else may have the names. Asked under the lock of all changes, so that it stays true until the commit. */
async function checkNames(
  transaction: Transaction,
  { id, username, email }: Pick<User, "id" | "username" | "email">,
): Promise<Violation[]> {
  const rows = await transaction.query(takenStatement, [username.trim(), email.trim(), id]);
  return Object.entries(TAKEN)
    .filter(([field]) => rows.some((row) => row[field] === "t"))
    .map(([field, message]) => ({ field, message }));
}

/** A role that users can be given: it exists, is published, and may do no more than who gives it. */
async function checkRole(database: Database, id: number, { actor, deadlineMs }: Call): Promise<Violation[]> {
  if (id === 0) return [{ field: "role", message: "A role must be chosen for this user." }];
  const role = Number.isNaN(id) ? undefined : (await findRoles(database, [id], deadlineMs)).get(id);
  if (!role?.isPublished) return [{ field: "role", message: "This value is not valid." }];
  if (!isWithin(role.rights, actor)) throw denied();
  return [];
}

/** Nobody changes a user who may do more than they. */
async function requireRightsOf(database: Database, { roleId }: User, { actor, deadlineMs }: Call) {
  const role = (await findRoles(database, [roleId], deadlineMs)).get(roleId);
  if (!role || !isWithin(role.rights, actor)) throw denied();
}

function self(): Fault {
  const message = "You cannot delete yourself.";
  return new Fault({ code: Code.PERMISSION_DENIED, reason: "SELF", message });
}
