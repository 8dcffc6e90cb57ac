import { create } from "@bufbuild/protobuf";
import {
  type UpdateUserRequest,
  type User,
  UserSchema,
  type UserService,
} from "@tidings/proto/tidings/identity/v1/user";
import type { Call } from "@tidings/rpc/call";
import type { Handlers } from "@tidings/rpc/definition";
import { notFound } from "@tidings/rpc/fault";
import type { Database } from "@tidings/store/database";
import type { Outbox } from "@tidings/store/outbox";
import type { BatchResult, Saved, Update } from "@tidings/store/repository";
import { userChanges, userRepository } from "./change-user.ts";
import { checkPermissions } from "./check-permissions.ts";
import { listOwners, listRoleNames } from "./names.ts";
import { oneByOne } from "./one-by-one.ts";
import { showRoles } from "./user-role.ts";

export function userHandlers(database: Database, outbox: Outbox): Handlers<typeof UserService> {
  const users = userRepository(database, outbox);
  const changes = userChanges(database, outbox);
  const shown = async (items: User[], { deadlineMs }: Call) => {
    await showRoles(database, items, deadlineMs);
    return items;
  };
  const get = async (id: number, call: Call) => {
    const user = await users.get(id, call);
    await showRoles(database, [user], call.deadlineMs);
    return user;
  };
  const empty = () => create(UserSchema);
  return {
    getUser: ({ id }, call) => get(id, call),
    listUsers: async ({ query }, call) => {
      const { items, totalSize, ids } = await users.list(query, call);
      return { users: await shown(items, call), totalSize, ids };
    },
    createUser: async ({ user }, call) => savedOf(await changes.create(user, call)),
    updateUser: async (request, call) => savedOf(await changes.update(updateOf(request), call)),
    deleteUser: async ({ id }, call) => (await changes.delete(id, call)).item,
    batchCreateUsers: async ({ requests }, call) =>
      batchOf(await oneByOne(requests, empty, ({ user }) => changes.create(user, call))),
    batchUpdateUsers: async ({ requests }, call) =>
      batchOf(await oneByOne(requests, empty, (request) => changes.update(updateOf(request), call))),
    batchDeleteUsers: async ({ ids }, call) =>
      batchOf(await oneByOne(ids, empty, (id) => changes.delete(id, call))),
    getSelf: (_request, call) => {
      if (call.actor.id === null) throw notFound();
      return get(call.actor.id, { ...call, reach: () => "all" });
    },
    listUserRoles: async (request, call) => ({ roles: await listRoleNames(database, request, call) }),
    listOwners: async (request, call) => ({ owners: await listOwners(database, request, call) }),
    checkPermissions: async (request, call) => ({ held: await checkPermissions(database, request, call) }),
  };
}

function savedOf({ item, created }: Saved<User>) {
  return { user: item, created };
}

function updateOf({ id, user, updateMask, allowMissing }: UpdateUserRequest): Update<User> {
  return { id, message: user, updateMask, allowMissing };
}

function batchOf({ items, statuses }: BatchResult<User>) {
  return { users: items, statuses };
}
