import type { Migrations } from "@tidings/store/migrate";
import { createContacts } from "./migrations/0001_contacts.ts";
import { createFields } from "./migrations/0002_fields.ts";

export const migrations: Migrations = {
  "0001_contacts": { up: createContacts },
  "0002_fields": { up: createFields },
};
