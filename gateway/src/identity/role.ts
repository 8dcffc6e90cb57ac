import { isDeepStrictEqual } from "node:util";
import { create } from "@bufbuild/protobuf";
import { type Database, prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import type { Outbox } from "@tidings/messaging/outbox";
import { type Role, RoleSchema } from "@tidings/proto/tidings/identity/v1/role";
import { RoleService } from "@tidings/proto/tidings/identity/v1/role_service";
import { parseJson } from "@tidings/resource/json-member";
import { repository } from "@tidings/resource/repository";
import { standardHandlers } from "@tidings/resource/standard-handlers";
import type { Call } from "@tidings/rpc/call";
import type { Handlers } from "@tidings/rpc/definition";
import { Code, denied, Fault, type Violation } from "@tidings/rpc/fault";
import { audited, type Single } from "./audited.ts";
import { changeIdentity, requireAdministrator } from "./change.ts";
import { type Changes, oneByOne } from "./one-by-one.ts";
import { isWithin, type Permissions, type Rights, readPermissions, withNeeded } from "./permissions.ts";
import { roleCommands } from "./search.ts";

export function roleHandlers(database: Database, outbox: Outbox): Handlers<typeof RoleService> {
  const changes: Changes<Role> = {
    create: (role, call) => changeRoles(database, outbox, call, (writable) => writable.create(role, call)),
    update: (update, call) =>
      changeRoles(database, outbox, call, async (writable, transaction) => {
        const saved = await writable.update(update, call);
        await requireAdministrator(transaction);
        return saved;
      }),
    delete: (id, call) =>
      changeRoles(database, outbox, call, async (writable, transaction) => {
        if (!isWithin(rightsOf(await writable.get(id, call)), call.actor)) throw denied();
        await requireUnused(transaction, id);
        return writable.delete(id, call);
      }),
  };
  const roles = roleRepository(database, outbox);
  return standardHandlers(RoleService, { ...roles, ...oneByOne(changes, () => create(RoleSchema)) });
}

function roleRepository(database: Database, outbox: Outbox) {
  return repository<Role>({ database, outbox }, RoleSchema, {
    commands: roleCommands,
    freelyPublished: true,
    prepare: prepareRole,
  });
}

function changeRoles<R>(
  database: Database,
  outbox: Outbox,
  call: Call,
  work: (writable: Single<Role>, transaction: Transaction) => Promise<R>,
): Promise<R> {
  return changeIdentity(database, call.deadlineMs, (transaction, joined) => {
    const roles = roleRepository(joined, outbox);
    return work(audited(roles, { transaction, schema: RoleSchema, objectType: "role" }), transaction);
  });
}

/** Refuses to make or change a role with more rights than the caller. */
function prepareRole(
  draft: Role,
  { before, call }: { before: Role | undefined; call: Call },
): Violation[] | Fault {
  const violations: Violation[] = [];
  const read = readPermissions(jsonOf(draft.rawPermissions));
  if ("problem" in read) violations.push({ field: "rawPermissions", message: read.problem });
  else storePermissions(draft, read.permissions, before);
  if (violations.length > 0) return violations;
  const isBeyond = [before, draft].some((role) => role && !isWithin(rightsOf(role), call.actor));
  return isBeyond ? denied() : [];
}

/** Kept as they were written, and with what they need beside them. The bytes of before stay where they mean the same. */
function storePermissions(draft: Role, permissions: Permissions, before: Role | undefined): void {
  const isEmpty = Object.keys(permissions).length === 0;
  const isSame = before?.rawPermissions && isDeepStrictEqual(jsonOf(before.rawPermissions), permissions);
  if (isEmpty) {
    delete draft.rawPermissions;
    delete draft.permissions;
  } else if (isSame && before.permissions) {
    Object.assign(draft, { rawPermissions: before.rawPermissions, permissions: before.permissions });
  } else {
    draft.rawPermissions = Buffer.from(JSON.stringify(permissions));
    draft.permissions = Buffer.from(JSON.stringify(withNeeded(permissions)));
  }
}

function jsonOf(bytes: Uint8Array | undefined): unknown {
  return bytes && bytes.length > 0 ? (parseJson(bytes) ?? {}) : {};
}

/** The effective rights of a role. */
function rightsOf({ isAdmin, permissions }: Role): Rights {
  return { admin: isAdmin, permissions: jsonOf(permissions) as Permissions };
}

const usedStatement = prepared("role_used", "select 1 from users where role_id = $1 limit 1");

async function requireUnused(transaction: Transaction, id: number): Promise<void> {
  const users = await transaction.query(usedStatement, [id]);
  if (users.length === 0) return;
  const message = "The role has users.";
  throw new Fault({ code: Code.FAILED_PRECONDITION, reason: "ROLE_HAS_USERS", message });
}
