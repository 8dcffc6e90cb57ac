import { fromBinary } from "@bufbuild/protobuf";
import type { Bus } from "@tidings/bus/connect";
import { type Consumption, consume } from "@tidings/bus/consume";
import type { Event } from "@tidings/bus/event";
import { webhookOwners } from "@tidings/bus/streams";
import { ClientSchema } from "@tidings/proto/tidings/identity/v1/client";
import { RoleSchema } from "@tidings/proto/tidings/identity/v1/role";
import { UserSchema } from "@tidings/proto/tidings/identity/v1/user";
import { isOutage } from "@tidings/rpc/outage";
import { type Reach, reachOfAction } from "@tidings/rpc/permission";
import {
  backgroundDeadline,
  type Database,
  prepared,
  type Row,
  type Statement,
} from "@tidings/store/database";
import { keepDeadLetter } from "@tidings/store/dead-letter";

/** What decides who is told of a contact. */
const CONTACTS = "lead:leads";

/** The owner of a webhook as of now. */
export interface Owner {
  /** Undefined for an API credential. */
  userId: number | undefined;
  /** Which contacts and companies the owner may view: all, their own, or none. */
  reach: Reach;
  /** Why it is none. */
  problem: string | undefined;
}

/** Columns of the view webhook_owners, under the names that `ownerOf` reads. */
export const OWNER_COLUMNS = "o.user_id, o.is_active, o.is_admin, o.permissions";

export function ownerOf({ user_id, is_active, is_admin, permissions }: Row): Owner {
  const userId = user_id ? Number(user_id) : undefined;
  if (is_active !== "t") return { userId, reach: "none", problem: "Its owner is gone or not published." };
  const rights = { admin: is_admin === "t", permissions: JSON.parse(permissions ?? "{}") };
  const reach = reachOfAction(rights, CONTACTS, "view");
  const problem = reach === "none" ? "The role of its owner does not allow to view contacts." : undefined;
  return { userId, reach, problem };
}

const ownersStatement = prepared(
  "webhook_owners",
  `select o.webhook_id, ${OWNER_COLUMNS} from webhook_owners o where o.webhook_id = any($1::integer[])`,
);

/** The owners of webhooks by the ids of these. */
export async function readOwners(
  database: Database,
  webhookIds: number[],
  deadlineMs: number,
): Promise<Map<number, Owner>> {
  const rows = await database.query(ownersStatement, [webhookIds], deadlineMs);
  return new Map(rows.map((row) => [Number(row.webhook_id), ownerOf(row)]));
}

/** Keeps what is to be known of users, roles and API credentials. */
export function followOwners(database: Database, bus: Bus): Consumption {
  return consume(bus, {
    durable: webhookOwners,
    handle: (events) => keepOwners(database, events),
    isOutage,
    deadLetter: (letter) => keepDeadLetter(database, webhookOwners.name, letter),
  });
}

/** Saves a row unless a newer one is known, so that an event that comes twice or late does no harm. */
function keeping(table: string, columns: string[]): Statement {
  const names = columns.map((column) => column.split(" ")[0] ?? "");
  return prepared(
    `${table}_keep`,
    `insert into ${table} (id, version, is_deleted, ${names.join(", ")})
     select * from json_to_record($1::json) as x (id integer, version integer, is_deleted boolean, ${columns.join(", ")})
     on conflict (id) do update set version = excluded.version, is_deleted = excluded.is_deleted,
       ${names.map((name) => `${name} = excluded.${name}`).join(", ")}
     where ${table}.version <= excluded.version and not ${table}.is_deleted`,
  );
}

const keepUser = keeping("users", ["role_id integer", "is_published boolean"]);
const keepRole = keeping("roles", ["is_admin boolean", "is_published boolean", "permissions jsonb"]);
const keepClient = keeping("clients", ["role_id integer"]);

/** What is kept of each kind of thing. */
const KINDS: Record<string, { statement: Statement; row(payload: Uint8Array): object } | undefined> = {
  user: {
    statement: keepUser,
    row: (payload) => {
      const { roleId, isPublished } = fromBinary(UserSchema, payload);
      return { role_id: roleId, is_published: isPublished ?? false };
    },
  },
  role: {
    statement: keepRole,
    row: (payload) => {
      const { isAdmin, isPublished, permissions: bytes } = fromBinary(RoleSchema, payload);
      const permissions = bytes ? JSON.parse(Buffer.from(bytes).toString()) : {};
      return { is_admin: isAdmin, is_published: isPublished ?? false, permissions: permissions ?? {} };
    },
  },
  client: {
    statement: keepClient,
    row: (payload) => ({ role_id: fromBinary(ClientSchema, payload).roleId ?? null }),
  },
};

export async function keepOwners(database: Database, events: Event[]): Promise<void> {
  await database.transaction(backgroundDeadline(), async (transaction) => {
    for (const { subject, aggregateId, aggregateVersion, payload } of events) {
      const [, , kind = "", action] = subject.split(".");
      const kept = KINDS[kind];
      if (!kept) continue;
      const known = { id: aggregateId, version: aggregateVersion, is_deleted: action === "deleted" };
      transaction.execute(kept.statement, [JSON.stringify({ ...known, ...kept.row(payload) })]);
    }
  });
}
