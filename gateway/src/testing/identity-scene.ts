import { create } from "@bufbuild/protobuf";
import { FieldMaskSchema } from "@bufbuild/protobuf/wkt";
import { openDatabase } from "@tidings/database/database";
import { createOutbox } from "@tidings/messaging/outbox";
import { RoleService } from "@tidings/proto/tidings/identity/v1/role_service";
import { type User, UserMethodService, UserSchema } from "@tidings/proto/tidings/identity/v1/user";
import { UserService } from "@tidings/proto/tidings/identity/v1/user_service";
import type { Actor } from "@tidings/rpc/actor";
import type { Outgoing } from "@tidings/rpc/client";
import { Fault } from "@tidings/rpc/fault";
import { local } from "@tidings/rpc/local";
import { createLog } from "@tidings/runtime/log";
import { createTestDatabase } from "@tidings/testkit/postgres";
import { ensureAdministrator } from "../identity/administrator.ts";
import type { Permissions } from "../identity/permissions.ts";
import { findPrincipal } from "../identity/principals.ts";
import { roleHandlers } from "../identity/role.ts";
import { userHandlers } from "../identity/user.ts";

export const STRONG = "Vermilion-Kettle-42";
export const ADMINISTRATOR_ROLE = 1;

/** Users and roles over a database of their own, with an administrator `root`. */
export async function openIdentityScene() {
  const testDatabase = await createTestDatabase();
  const log = createLog("identity", "silent");
  const database = openDatabase({ url: testDatabase.url("identity"), log });
  const outbox = createOutbox();
  await ensureAdministrator(database, outbox, { username: "root", password: STRONG });
  const handlers = userHandlers(database, outbox);
  const users = { ...local(UserService, handlers), ...local(UserMethodService, handlers) };
  const roles = local(RoleService, roleHandlers(database, outbox));
  const execute = (text: string, values: unknown[] = []) =>
    database.query({ text }, values, Date.now() + 10_000);

  const actorOf = async (id: number): Promise<Actor> => {
    const actor = await findPrincipal(database, id, Date.now() + 10_000);
    if (!actor) throw new Error(`user ${id} cannot sign in`);
    return actor;
  };
  const [row] = await execute("select id from users where username = 'root'");
  const root = await actorOf(Number(row?.id));

  const newRole = async (rawPermissions: Permissions, members: { isAdmin?: boolean } = {}) => {
    const role = { name: unique("role"), rawPermissions: json(rawPermissions), ...members };
    return (await roles.createRole({ role }, as(root))).role?.id ?? 0;
  };
  const newUser = async (role: number, members: Partial<UserInit> = {}): Promise<User> => {
    const { user } = await users.createUser({ user: userInit(role, members) }, as(root));
    if (!user) throw new Error("no user was answered");
    return user;
  };

  return {
    database,
    users,
    roles,
    root,
    execute,
    actorOf,
    newRole,
    newUser,
    /** Somebody with these rights, ready to act. */
    newActor: async (permissions: Permissions) => actorOf((await newUser(await newRole(permissions))).id),
    async close() {
      await database.close();
      await testDatabase.drop();
    },
  };
}

export type IdentityScene = Awaited<ReturnType<typeof openIdentityScene>>;
type UserInit = Omit<User, "$typeName" | "$unknown">;

export function as(actor: Actor): Outgoing {
  return { actor, deadlineMs: Date.now() + 10_000, requestId: "test" };
}

/** A user as a request may hold it. */
export function userInit(role: number, members: Partial<UserInit> = {}): User {
  const username = unique("user");
  return create(UserSchema, {
    username,
    email: `${username}@example.com`,
    firstName: "Ada",
    lastName: "Lovelace",
    role: json(role),
    plainPassword: json({ password: STRONG, confirm: STRONG }),
    ...members,
  });
}

export function mask(...paths: string[]) {
  return create(FieldMaskSchema, { paths });
}

export function json(value: unknown): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(JSON.stringify(value));
}

export function isFault(reason: string) {
  return (error: unknown) => error instanceof Fault && error.reason === reason;
}

/** A refusal of exactly these members. */
export function refuses(...fields: string[]) {
  return (error: unknown) =>
    error instanceof Fault && error.violations.map(({ field }) => field).join() === fields.join();
}

let count = 0;
const unique = (word: string): string => `${word}-${++count}`;
