import { create, toBinary } from "@bufbuild/protobuf";
import { type Database, prepared } from "@tidings/database/database";
import { SnapshotSchema } from "@tidings/proto/tidings/api/v1/snapshot";
import { ClientSchema } from "@tidings/proto/tidings/identity/v1/client";
import { RoleSchema } from "@tidings/proto/tidings/identity/v1/role";
import { UserSchema } from "@tidings/proto/tidings/identity/v1/user";
import { resourceSnapshots, type SnapshotSource } from "@tidings/resource/snapshots";
import { type VisibleRows, visibleRows } from "@tidings/resource/visible-rows";

/** Users, roles and API credentials for who keeps something of them. */
export function identitySnapshots(database: Database): SnapshotSource[] {
  return [
    resourceSnapshots(database, UserSchema),
    resourceSnapshots(database, RoleSchema),
    clientSnapshots(database),
  ];
}

/** Users, for properties elsewhere that name them. One who sees only their own sees themself. */
export function visibleUsers(database: Database): VisibleRows {
  return visibleRows(database, UserSchema, { own: "id = $2" });
}

const clientsStatement = prepared(
  "oauth_clients_snapshots",
  "select id, version, name, role_id from oauth_clients where id > $1 order by id limit $2::integer",
);

function clientSnapshots(database: Database): SnapshotSource {
  return {
    type: ClientSchema.typeName,
    async list({ afterId, pageSize }, deadlineMs) {
      const rows = await database.query(clientsStatement, [afterId, pageSize], deadlineMs);
      return rows.map(({ id, version, name, role_id }) => {
        const roleId = role_id === null ? {} : { roleId: Number(role_id) };
        const client = create(ClientSchema, { id: Number(id), name: name ?? "", ...roleId });
        const payload = toBinary(ClientSchema, client);
        return create(SnapshotSchema, { id: Number(id), version: Number(version), payload });
      });
    },
  };
}
