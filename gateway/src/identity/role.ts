import { isDeepStrictEqual } from "node:util";
import { create } from "@bufbuild/protobuf";
import {
  type Role,
  RoleSchema,
  type RoleService,
  type UpdateRoleRequest,
} from "@tidings/proto/tidings/identity/v1/role";
import type { Call } from "@tidings/rpc/call";
import type { Handlers } from "@tidings/rpc/definition";
import { Code, denied, Fault, type Violation } from "@tidings/rpc/fault";
import { type Database, prepared, type Transaction } from "@tidings/store/database";
import type { Outbox } from "@tidings/store/outbox";
import { type BatchResult, repository, type Saved, type Update } from "@tidings/store/repository";
import { audited, type Single } from "./audited.ts";
import { changeIdentity, requireAdministrator } from "./change.ts";
import { oneByOne } from "./one-by-one.ts";
import { isWithin, type Permissions, type Rights, readPermissions, withNeeded } from "./permissions.ts";
import { roleCommands } from "./search.ts";

export function roleHandlers(database: Database, outbox: Outbox): Handlers<typeof RoleService> {
  const roles = roleRepository(database, outbox);
  const createRole = (role: Role | undefined, call: Call) =>
    changeRoles(database, outbox, call, (writable) => writable.create(role, call));
  const updateRole = (update: Update<Role>, call: Call) =>
    changeRoles(database, outbox, call, async (writable, transaction) => {
      const saved = await writable.update(update, call);
      await requireAdministrator(transaction);
      return saved;
    });
  const deleteRole = (id: number, call: Call): Promise<Saved<Role>> =>
    changeRoles(database, outbox, call, async (writable, transaction) => {
      if (!isWithin(rightsOf(await writable.get(id, call)), call.actor)) throw denied();
      await requireUnused(transaction, id);
      return { item: await writable.delete(id, call), created: false };
    });
  const empty = () => create(RoleSchema);
  return {
    getRole: ({ id }, call) => roles.get(id, call),
    listRoles: async ({ query }, call) => {
      const { items, totalSize, ids } = await roles.list(query, call);
      return { roles: items, totalSize, ids };
    },
    createRole: async ({ role }, call) => savedOf(await createRole(role, call)),
    updateRole: async (request, call) => savedOf(await updateRole(updateOf(request), call)),
    deleteRole: async ({ id }, call) => (await deleteRole(id, call)).item,
    batchCreateRoles: async ({ requests }, call) =>
      batchOf(await oneByOne(requests, empty, ({ role }) => createRole(role, call))),
    batchUpdateRoles: async ({ requests }, call) =>
      batchOf(await oneByOne(requests, empty, (request) => updateRole(updateOf(request), call))),
    batchDeleteRoles: async ({ ids }, call) =>
      batchOf(await oneByOne(ids, empty, (id) => deleteRole(id, call))),
  };
}

function roleRepository(database: Database, outbox: Outbox) {
  return repository<Role>(database, outbox, RoleSchema, {
    table: "roles",
    events: "tidings.identity.role",
    search: ["name", "description"],
    order: [{ column: "name", descending: false }],
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

const NAME_MAX = 191;

/** Nobody makes a role that may do more than they, nor changes one that already does. */
function prepareRole(
  draft: Role,
  { before, call }: { before: Role | undefined; call: Call },
): Violation[] | Fault {
  const violations: Violation[] = [];
  draft.name = draft.name.trim();
  if (draft.name === "") violations.push({ field: "name", message: "A name is required." });
  else if (draft.name.length > NAME_MAX)
    violations.push({ field: "name", message: `A name may have ${NAME_MAX} characters.` });
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
  return bytes && bytes.length > 0 ? (JSON.parse(Buffer.from(bytes).toString()) ?? {}) : {};
}

/** What a role comes to. */
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

function savedOf({ item, created }: Saved<Role>) {
  return { role: item, created };
}

function updateOf({ id, role, updateMask, allowMissing }: UpdateRoleRequest): Update<Role> {
  return { id, message: role, updateMask, allowMissing };
}

function batchOf({ items, statuses }: BatchResult<Role>) {
  return { roles: items, statuses };
}
