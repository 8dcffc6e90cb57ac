import { containingCommand, type SearchCommand } from "@tidings/resource/search";
import { type RawBuilder, sql } from "kysely";

const role = (condition: RawBuilder<unknown>) =>
  sql`role_id in (select r.id from roles r where ${condition})`;

const userStates = new Map([
  ["active", sql`is_published`],
  ["inactive", sql`not is_published`],
  ["admin", role(sql`r.is_admin`)],
]);

const firstName = containingCommand(sql.ref("first_name"));
const lastName = containingCommand(sql.ref("last_name"));
const roleName = containingCommand(sql.ref("r.name"));

/** Search commands of users. */
export const userCommands: ReadonlyMap<string, SearchCommand> = new Map<string, SearchCommand>([
  ["is", ({ text }) => userStates.get(text)],
  ["name", (term) => sql`(${firstName(term)} or ${lastName(term)})`],
  ["role", (term) => role(sql`${roleName(term)}`)],
  ["username", containingCommand(sql.ref("username"))],
  ["email", containingCommand(sql.ref("email"))],
  ["position", containingCommand(sql.ref("position"))],
]);

/** Search commands of roles. */
export const roleCommands: ReadonlyMap<string, SearchCommand> = new Map<string, SearchCommand>([
  ["is", ({ text }) => (text === "admin" ? sql`is_admin` : undefined)],
  ["name", containingCommand(sql.ref("name"))],
]);
