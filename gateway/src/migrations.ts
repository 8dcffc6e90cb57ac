import type { Migrations } from "@tidings/store/migrate";
import { createUsers } from "./migrations/0001_users.ts";

export const migrations: Migrations = {
  "0001_users": { up: createUsers },
};
