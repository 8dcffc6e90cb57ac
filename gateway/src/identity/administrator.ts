import { create } from "@bufbuild/protobuf";
import { FieldMaskSchema } from "@bufbuild/protobuf/wkt";
import { UserSchema } from "@tidings/proto/tidings/identity/v1/user";
import type { Call } from "@tidings/rpc/call";
import { backgroundDeadline, type Database, prepared, type Transaction } from "@tidings/store/database";
import type { Outbox } from "@tidings/store/outbox";
import { audited } from "./audited.ts";
import { changeIdentity } from "./change.ts";
import { storePassword, userRepository } from "./change-user.ts";
import { hashPassword } from "./password.ts";

const findStatement = prepared(
  "administrator_find",
  "select id from users where lower(username) = lower($1)",
);
const roleStatement = prepared(
  "administrator_role",
  "select id from roles where is_admin and is_published order by id limit 1",
);

/** Makes sure that the administrator exists and has this password. Several gateways may do so at once. */
export async function ensureAdministrator(
  database: Database,
  outbox: Outbox,
  { username, password }: { username: string; password: string },
): Promise<void> {
  const hash = await hashPassword(password);
  const call = callOfStart();
  await changeIdentity(database, call.deadlineMs, async (transaction, joined) => {
    const users = audited(userRepository(joined, outbox), {
      transaction,
      schema: UserSchema,
      objectType: "user",
    });
    const id = await idFrom(transaction.query(findStatement, [username]));
    const roleId = await administratorRole(transaction);
    const saved = id
      ? await users.update({ id, ...promotion(roleId), allowMissing: false }, call)
      : await users.create(newAdministrator(username, roleId), call);
    storePassword(transaction, saved.item.id, hash);
  });
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
