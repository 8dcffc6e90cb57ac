import { create } from "@bufbuild/protobuf";
import { type Database, prepared } from "@tidings/database/database";
import type { Outbox } from "@tidings/messaging/outbox";
import { type User, type UserMethodService, UserSchema } from "@tidings/proto/tidings/identity/v1/user";
import { UserService } from "@tidings/proto/tidings/identity/v1/user_service";
import { standardHandlers } from "@tidings/resource/standard-handlers";
import type { Call } from "@tidings/rpc/call";
import type { Handlers } from "@tidings/rpc/definition";
import { notFound } from "@tidings/rpc/fault";
import { userChanges, userRepository } from "./change-user.ts";
import { checkPermissions } from "./check-permissions.ts";
import { listOwners, listRoleNames } from "./names.ts";
import { oneByOne } from "./one-by-one.ts";
import { showRoles } from "./user-role.ts";

export type UserHandlers = Handlers<typeof UserService> & Handlers<typeof UserMethodService>;

export function userHandlers(database: Database, outbox: Outbox): UserHandlers {
  const users = userRepository(database, outbox);
  const changes = userChanges(database, outbox);
  return {
    ...standardHandlers(UserService, { ...users, ...oneByOne(changes, () => create(UserSchema)) }),
    getSelf: (_request, call) =>
      call.actor.id === null
        ? credentialAsUser(database, call)
        : users.get(call.actor.id, { ...call, reach: () => "all" }),
    changePassword: async ({ id, plainPassword }, call) => {
      await changes.changePassword(id, plainPassword, call);
      return {};
    },
    endSessions: ({ id }, call) => changes.endSessions(id, call),
    listUserRoles: async (request, call) => ({ roles: await listRoleNames(database, request, call) }),
    listOwners: async (request, call) => ({ owners: await listOwners(database, request, call) }),
    checkPermissions: async (request, call) => ({ held: await checkPermissions(database, request, call) }),
  };
}

const roleOfClient = prepared("role_of_client", "select role_id from oauth_clients where id = $1");

/** An API credential that acts for itself: it has a name and a role like a user, and no id. */
async function credentialAsUser(database: Database, { actor, deadlineMs }: Call): Promise<User> {
  if (actor.clientId === undefined) throw notFound();
  const [row] = await database.query(roleOfClient, [actor.clientId], deadlineMs);
  const user = create(UserSchema, {
    username: actor.name,
    firstName: actor.name,
    roleId: Number(row?.role_id ?? 0),
  });
  await showRoles(database, [user], deadlineMs);
  return user;
}
