import type { Migrations } from "@tidings/database/migrate";
import { createUsers } from "./migrations/0001_users.ts";
import { createRoles } from "./migrations/0002_roles.ts";
import { createOAuth } from "./migrations/0003_oauth.ts";
import { createNamesAndRights } from "./migrations/0004_names_and_rights.ts";
import { makeClientIdsUnique } from "./migrations/0005_client_ids.ts";

export const migrations: Migrations = {
  "0001_users": { up: createUsers },
  "0002_roles": { up: createRoles },
  "0003_oauth": { up: createOAuth },
  "0004_names_and_rights": { up: createNamesAndRights },
  "0005_client_ids": { up: makeClientIdsUnique },
};
