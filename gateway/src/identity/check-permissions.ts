import { type Database, prepared } from "@tidings/database/database";
import { Verb } from "@tidings/proto/tidings/api/v1/options";
import type { CheckPermissionsRequest } from "@tidings/proto/tidings/identity/v1/user";
import type { Call } from "@tidings/rpc/call";
import { badRequest, denied, notFound } from "@tidings/rpc/fault";
import { holds } from "./permissions.ts";
import { findPrincipal } from "./principals.ts";

const PERMISSIONS_MAX = 1_000;
const NOBODY = { admin: false, permissions: {} };

const existsStatement = prepared("user_known", "select 1 from users where id = $1");

/** The permissions that a user holds, or the calling app (id 0). A user who cannot sign in holds none. */
export async function checkPermissions(
  database: Database,
  { userId, permissions }: CheckPermissionsRequest,
  { actor, deadlineMs, reach }: Call,
): Promise<Record<string, boolean>> {
  const isApp = userId === 0 && actor.id === null;
  if (!isApp && userId !== actor.id && reach(Verb.VIEW) === "none") throw denied();
  const [known] = isApp ? [actor] : await database.query(existsStatement, [userId], deadlineMs);
  if (!known) throw notFound();
  if (permissions.length === 0) throw badRequest("At least one permission must be submitted.");
  if (permissions.length > PERMISSIONS_MAX)
    throw badRequest(`At most ${PERMISSIONS_MAX} permissions are supported.`);
  const rights = isApp ? actor : ((await findPrincipal(database, userId, deadlineMs)) ?? NOBODY);
  return Object.fromEntries(permissions.map((permission) => [permission, holds(rights, permission)]));
}
