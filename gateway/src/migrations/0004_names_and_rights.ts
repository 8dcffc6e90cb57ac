import { create, type DescMessage, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { ClientSchema } from "@tidings/proto/tidings/identity/v1/client";
import { RoleSchema } from "@tidings/proto/tidings/identity/v1/role";
import { UserSchema } from "@tidings/proto/tidings/identity/v1/user";
import { folded } from "@tidings/runtime/folded";
import { type Kysely, sql } from "kysely";

interface UserRow {
  id: number;
  version: number;
  username: string;
  email: string;
  first_name: string;
  last_name: string;
  is_published: boolean;
  role_id: number;
}

/**
 * Sign-in names are one namespace: nobody's username is another user's address. Roles keep the permissions as they were written beside
 * the rights that follow from them. Existing users, roles and credentials are published.
 */
export async function createNamesAndRights(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table user_names (
      name text primary key,
      user_id integer not null references users (id) on delete cascade
    )`.execute(db);
  await sql`create index user_names_user on user_names (user_id)`.execute(db);
  const { rows: users } = await sql<UserRow>`
    select id, version, username, email, first_name, last_name, is_published, role_id from users order by id`.execute(
    db,
  );
  // Usernames first: where an address is somebody else's username, it opens nothing any more.
  const names = [
    ...users.map(({ id, username }) => [id, username]),
    ...users.map(({ id, email }) => [id, email]),
  ] as const;
  for (const [id, name] of names)
    await sql`insert into user_names (name, user_id) values (${folded(String(name))}, ${id})
      on conflict do nothing`.execute(db);

  await sql`alter table roles add column permissions jsonb`.execute(db);
  await sql`update roles set permissions = raw_permissions`.execute(db);
  await sql`
    alter table oauth_clients add column version integer not null default 1,
      add column previous_secret_hash text, add column previous_secret_until timestamptz`.execute(db);
  await tellOfEverybody(db, users);
}

/** Events for the users and roles that are there already. */
async function tellOfEverybody(db: Kysely<unknown>, users: UserRow[]): Promise<void> {
  const tell = async <S extends DescMessage>(
    subject: string,
    { id, version }: { id: number; version: number },
    schema: S,
    message: MessageInitShape<S>,
  ) => {
    const payload = Buffer.from(toBinary(schema, create(schema, message)));
    await sql`insert into outbox (subject, aggregate_id, aggregate_version, payload)
      values (${subject}, ${id}, ${version}, ${payload})`.execute(db);
  };
  for (const { first_name, last_name, is_published, role_id, ...user } of users) {
    const message = {
      ...user,
      firstName: first_name,
      lastName: last_name,
      isPublished: is_published,
      roleId: role_id,
    };
    await tell("tidings.identity.user.updated", user, UserSchema, message);
  }
  const { rows: roles } = await sql<{
    id: number;
    version: number;
    name: string;
    is_admin: boolean;
    is_published: boolean;
    permissions: object | null;
  }>`select id, version, name, is_admin, is_published, permissions from roles order by id`.execute(db);
  for (const { id, version, name, is_admin, is_published, permissions } of roles) {
    const bytes = Buffer.from(JSON.stringify(permissions ?? {}));
    const message = { id, name, isAdmin: is_admin, isPublished: is_published, permissions: bytes };
    await tell("tidings.identity.role.updated", { id, version }, RoleSchema, message);
  }
  const { rows: clients } = await sql<{ id: number; version: number; name: string; role_id: number | null }>`
    select id, version, name, role_id from oauth_clients order by id`.execute(db);
  for (const { id, version, name, role_id } of clients) {
    const message = { id, name, ...(role_id !== null && { roleId: role_id }) };
    await tell("tidings.identity.client.saved", { id, version }, ClientSchema, message);
  }
}
