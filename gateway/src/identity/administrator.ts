import { create } from "@bufbuild/protobuf";
import { FieldMaskSchema } from "@bufbuild/protobuf/wkt";
import { backgroundDeadline, type Database, prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import type { Outbox } from "@tidings/messaging/outbox";
import { UserSchema } from "@tidings/proto/tidings/identity/v1/user";
import type { Call } from "@tidings/rpc/call";
import { folded } from "@tidings/runtime/folded";
import { audited } from "./audited.ts";
import { changeIdentity } from "./change.ts";
import { replacePassword, userRepository } from "./change-user.ts";
import { hashPassword, isPassword } from "./password.ts";
import { storeNames } from "./user-names.ts";

const findStatement = prepared(
  "administrator_find",
  `select u.id, u.password_hash from user_names n join users u on u.id = n.user_id
   where n.name = $1`,
);
const roleStatement = prepared(
  "administrator_role",
  "select id from roles where is_admin and is_published order by id limit 1",
);

/** Makes sure that the administrator exists and has this password. Several gateways may do so at once. */
export async function ensureAdministrator(
  database: Database,
  outbox: Outbox,
  { username, password }: Login,
): Promise<void> {
  const hash = await hashPassword(password);
  const isKnown = await hasPassword(database, { username, password });
  const call = callOfStart();
  await changeIdentity(database, call.deadlineMs, async (transaction, joined) => {
    const users = audited(userRepository(joined, outbox), {
      transaction,
      schema: UserSchema,
      objectType: "user",
    });
    const id = await idFrom(transaction.query(findStatement, [folded(username)]));
    const roleId = await administratorRole(transaction);
    const saved = id
      ? await users.update({ id, ...promotion(roleId), allowMissing: false }, call)
      : await users.create(newAdministrator(username, roleId), call);
    storeNames(transaction, saved.item);
    // The same password again ends no session.
    if (!isKnown) await replacePassword(transaction, saved.item.id, hash, call);
  });
}

async function hasPassword(database: Database, { username, password }: Login): Promise<boolean> {
  const [row] = await database.query(findStatement, [folded(username)], backgroundDeadline());
  return row?.password_hash ? isPassword(row.password_hash, password) : false;
}

interface Login {
  username: string;
  password: string;
}

function promotion(roleId: number) {
  return {
    message: create(UserSchema, { roleId, isPublished: true }),
    updateMask: create(FieldMaskSchema, { paths: ["role_id", "is_published"] }),
  };
}

function newAdministrator(username: string, roleId: number) {
  const email = username.includes("@") ? username : `${username}@localhost`;
  return create(UserSchema, { username, email, firstName: "Admin", lastName: "User", roleId });
}

async function administratorRole(transaction: Transaction): Promise<number> {
  const id = await idFrom(transaction.query(roleStatement));
  if (!id) throw new Error("no role makes an administrator");
  return id;
}

async function idFrom(rows: ReturnType<Transaction["query"]>): Promise<number | undefined> {
  const [row] = await rows;
  return row && Number(row.id);
}

function callOfStart(): Call {
  return {
    actor: { kind: "service", id: null, name: "Tidings", admin: true, permissions: {} },
    deadlineMs: backgroundDeadline(),
    requestId: "start",
    reach: () => "all",
  };
}
