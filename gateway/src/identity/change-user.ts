import { create } from "@bufbuild/protobuf";
import { FieldMaskSchema } from "@bufbuild/protobuf/wkt";
import { type Database, prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import type { Outbox } from "@tidings/messaging/outbox";
import { Verb } from "@tidings/proto/tidings/api/v1/options";
import { type User, UserSchema } from "@tidings/proto/tidings/identity/v1/user";
import { repository } from "@tidings/resource/repository";
import type { Saved, Update } from "@tidings/resource/repository-options";
import type { Call } from "@tidings/rpc/call";
import { requireExpected } from "@tidings/rpc/expected";
import { Code, denied, Fault, invalid, NOT_VALID, type Violation } from "@tidings/rpc/fault";
import { sql } from "kysely";
import { rateLimited, rateLimiter, refusalOf } from "../limits/rate-limit.ts";
import { appendAudit } from "./audit.ts";
import { audited, type Single } from "./audited.ts";
import { changeIdentity, requireAdministrator } from "./change.ts";
import { currentPassword, newPassword } from "./new-password.ts";
import type { Changes } from "./one-by-one.ts";
import { hashPassword, isPassword } from "./password.ts";
import { isWithin } from "./permissions.ts";
import { userCommands } from "./search.ts";
import { checkUser } from "./user-draft.ts";
import { checkNames, storeNames } from "./user-names.ts";
import { findRoles, sentRoleId, showRoles } from "./user-role.ts";
import { endSessions } from "./user-sessions.ts";

export interface UserChanges extends Changes<User> {
  /** Throws INVALID_ARGUMENT when it cannot be, and for one's own when the present one is not right. */
  changePassword(id: number, sent: Uint8Array, call: Call): Promise<void>;
  endSessions(id: number, call: Call): Promise<{ sessions: number; grants: number }>;
}

const ROLE_NAME = sql`(select r.name from roles r where r.id = role_id)`;

/** Users, shown with their roles. */
export function userRepository(database: Database, outbox: Outbox, problems: Violation[] = []) {
  return repository<User>({ database, outbox }, UserSchema, {
    search: [ROLE_NAME],
    commands: userCommands,
    freelyPublished: true,
    prepare: (draft) => [...checkUser(draft), ...problems],
    show: (items, { deadlineMs }, database) => showRoles(database, items, deadlineMs),
  });
}

/** The changes of users with their rules; each is a transaction of its own. */
export function userChanges(database: Database, outbox: Outbox): UserChanges {
  const updateUser = async (update: Update<User>, call: Call): Promise<Saved<User>> => {
    if (update.allowMissing && !(await exists(database, update.id, call))) {
      if (call.reach(Verb.CREATE) === "none") throw denied();
      requireExpected(call, UserSchema.typeName, { id: update.id, version: undefined });
      return createUser(database, outbox, update.message, call);
    }
    const known = await userRepository(database, outbox).get(update.id, call);
    const replacement = await replacementOf(database, update, known, call);
    return changeIdentity(database, call.deadlineMs, async (transaction, joined) => {
      const before = await usersIn(transaction, joined, outbox).get(update.id, call);
      await requireRightsOf(joined, before, call);
      const { message, updateMask } = changeOf(update, before);
      const problems = [
        ...(await checkNames(transaction, {
          ...message,
          email: message.email || before.email,
          id: before.id,
        })),
        ...(message.roleId === before.roleId ? [] : await checkRole(joined, message.roleId, call)),
        ...("problem" in replacement ? [{ field: "plainPassword", message: replacement.problem }] : []),
      ];
      const change = { id: before.id, message, updateMask, allowMissing: false };
      const saved = await usersIn(transaction, joined, outbox, problems).update(change, call);
      storeNames(transaction, saved.item);
      if ("hash" in replacement) await replacePassword(transaction, saved.item.id, replacement.hash, call);
      await requireAdministrator(transaction);
      return saved;
    });
  };

  const deleteUser = (id: number, call: Call): Promise<User> =>
    changeIdentity(database, call.deadlineMs, async (transaction, joined) => {
      const users = usersIn(transaction, joined, outbox);
      const before = await users.get(id, call);
      if (id === call.actor.id) throw self();
      await requireRightsOf(joined, before, call);
      const item = await users.delete(id, call);
      await requireAdministrator(transaction);
      return item;
    });

  return {
    create: (sent, call) => createUser(database, outbox, sent, call),
    update: updateUser,
    delete: deleteUser,
    ...signInChanges(database, outbox),
  };
}

async function createUser(
  database: Database,
  outbox: Outbox,
  sent: User | undefined,
  call: Call,
): Promise<Saved<User>> {
  const user = create(UserSchema, sent);
  const password = await newPassword(user.plainPassword, user);
  const hash = "password" in password ? await hashPassword(password.password) : undefined;
  return changeIdentity(database, call.deadlineMs, async (transaction, joined) => {
    user.roleId = sentRoleId(user);
    const problems = [
      ...(await checkNames(transaction, user)),
      ...(await checkRole(joined, user.roleId, call)),
      ...("problem" in password ? [{ field: "plainPassword", message: password.problem }] : []),
    ];
    const saved = await usersIn(transaction, joined, outbox, problems).create(user, call);
    storeNames(transaction, saved.item);
    if (hash) storePassword(transaction, saved.item.id, hash);
    return saved;
  });
}

function usersIn(
  transaction: Transaction,
  joined: Database,
  outbox: Outbox,
  problems?: Violation[],
): Single<User> {
  return audited(userRepository(joined, outbox, problems), {
    transaction,
    schema: UserSchema,
    objectType: "user",
  });
}

/** Changes of what lets a user in. */
function signInChanges(
  database: Database,
  outbox: Outbox,
): Pick<UserChanges, "changePassword" | "endSessions"> {
  return {
    async changePassword(id, sent, call) {
      requireEdit(id, call);
      const user = await userRepository(database, outbox).get(id, asSelf(call, id));
      const change = await passwordChange(database, { user, sent }, call);
      if ("problem" in change) throw invalid([{ field: "plainPassword", message: change.problem }]);
      await changeIdentity(database, call.deadlineMs, async (transaction, joined) => {
        await requireRightsOf(joined, user, call);
        await replacePassword(transaction, id, change.hash, call);
      });
    },

    async endSessions(id, call) {
      requireEdit(id, call);
      const user = await userRepository(database, outbox).get(id, asSelf(call, id));
      return changeIdentity(database, call.deadlineMs, async (transaction, joined) => {
        await requireRightsOf(joined, user, call);
        const ended = await endSessions(transaction, id);
        await auditOf(transaction, "end_sessions", id, call, ended);
        return ended;
      });
    },
  };
}

/** Everybody may change what is their own; others only who may edit them. */
function requireEdit(id: number, call: Call): void {
  if (id !== call.actor.id && call.reach(Verb.EDIT) === "none") throw denied();
}

/** The hash of the password that an edit sends, if it sends one, and one's own only with the one before. */
async function replacementOf(
  database: Database,
  { message, updateMask }: Update<User>,
  before: User,
  call: Call,
): Promise<{ hash: string } | { problem: string } | Record<never, never>> {
  if (!message?.plainPassword?.length || !updateMask) return {};
  return passwordChange(database, { user: before, sent: message.plainPassword }, call);
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

/** Stores the password of a new user, who has no sessions or tokens to end. */
function storePassword(transaction: Transaction, userId: number, hash: string): void {
  transaction.execute(passwordStatement, [userId, hash]);
}

/** A new password ends everything that was let in by the old one. */
export async function replacePassword(
  transaction: Transaction,
  userId: number,
  hash: string,
  call: Call,
): Promise<void> {
  storePassword(transaction, userId, hash);
  await auditOf(transaction, "change_password", userId, call, await endSessions(transaction, userId));
}

async function auditOf(
  transaction: Transaction,
  action: string,
  id: number,
  { actor }: Call,
  details: object,
) {
  const object = { objectType: "user", objectId: String(id), details };
  await appendAudit(transaction, [{ action, actor, clientIp: undefined, ...object }]);
}

/** The same caller, for whom oneself is always there. */
function asSelf(call: Call, id: number): Call {
  return call.actor.id === id ? { ...call, reach: () => "all" } : call;
}

const hashStatement = prepared("user_password_of", "select password_hash from users where id = $1");
/** Limits guesses: a stranger at an open session or with a stolen token cannot try passwords at will. */
const guesses = rateLimiter({ name: "password-change", points: 5, windowSeconds: 15 * 60, redis: undefined });

/** The hash of the password to be, or why it cannot be. */
async function passwordChange(
  database: Database,
  { user, sent }: { user: User; sent: Uint8Array },
  { actor, deadlineMs }: Call,
): Promise<{ hash: string } | { problem: string }> {
  if (user.id === actor.id) {
    const current = currentPassword(sent);
    if (!current) return { problem: "Your present password is needed as well, as current." };
    await takeGuess(user.id);
    const [row] = await database.query(hashStatement, [user.id], deadlineMs);
    if (!row?.password_hash || !(await isPassword(row.password_hash, current)))
      return { problem: "The present password is not right." };
    await guesses.delete(String(user.id));
  }
  const read = await newPassword(sent, user);
  return "problem" in read ? read : { hash: await hashPassword(read.password) };
}

async function takeGuess(userId: number): Promise<void> {
  const refusal = await refusalOf(guesses, String(userId));
  if (refusal)
    throw rateLimited(refusal.msBeforeNext, "Too many failed attempts. Please wait before you try again.");
}

/** A role that users can be given: it exists, is published, and may do no more than who gives it. */
async function checkRole(database: Database, id: number, { actor, deadlineMs }: Call): Promise<Violation[]> {
  if (id === 0) return [{ field: "role", message: "A role must be chosen for this user." }];
  const role = Number.isNaN(id) ? undefined : (await findRoles(database, [id], deadlineMs)).get(id);
  if (!role?.isPublished) return [{ field: "role", message: NOT_VALID }];
  if (!isWithin(role.rights, actor)) throw denied();
  return [];
}

/** Refuses to change a user with more rights than the caller. */
async function requireRightsOf(database: Database, { roleId }: User, { actor, deadlineMs }: Call) {
  const role = (await findRoles(database, [roleId], deadlineMs)).get(roleId);
  if (!role || !isWithin(role.rights, actor)) throw denied();
}

function self(): Fault {
  const message = "You cannot delete yourself.";
  return new Fault({ code: Code.PERMISSION_DENIED, reason: "SELF", message });
}
