import { UserMethodService, UserSchema } from "@tidings/proto/tidings/identity/v1/user";
import { jsonBytes } from "@tidings/resource/json-member";
import { badRequest } from "@tidings/rpc/fault";
import type { Exchange } from "../rest/exchange.ts";
import { messageWriter } from "../rest/message-json.ts";
import { jsonAnswer, SUCCESS, textAnswer } from "../route/answer.ts";
import { objectBody } from "../route/body-form.ts";
import { entityId } from "../route/parameter.ts";
import { nameFilterQuery } from "../route/query-form.ts";
import { type Route, route } from "../route/route.ts";
import { arrayOf, COUNT, closed, type Schema, SWITCH, TEXT } from "../route/schema.ts";
import type { RoutesContext } from "./routes-context.ts";

const writeUser = messageWriter(UserSchema);
const SELF = new Set(
  `id username firstName lastName email position role timezone locale lastLogin lastActive
  signature`.split(/\s+/),
);
const PASSWORD: Schema = {
  type: "object",
  properties: { password: TEXT, confirm: TEXT, current: TEXT },
  examples: [{ password: "Lantern-Orchid-77", confirm: "Lantern-Orchid-77" }],
};
const PERMISSIONS: Schema = {
  type: "object",
  properties: { permissions: { oneOf: [TEXT, arrayOf(TEXT)] } },
  examples: [{ permissions: "lead:leads:view" }],
};
const right = (verb: "view" | "edit") => ({ base: "user:users", verb });

/** Routes of users beyond the standard operations: each for oneself, under the name that everybody has for it, and for others by id. */
export function userRoutes(context: RoutesContext): Route[] {
  const { clients, limits } = context;
  const users = clients.of(UserMethodService);
  const rpc = UserMethodService.method;
  return [
    route({
      method: "GET",
      path: "/users/self",
      summary: "Get who is asking",
      rpc: rpc.getSelf,
      answer: textAnswer((components) => components.present(UserSchema)),
      // An API credential that acts for itself is no user: it has no id.
      handle: async ({ options }) =>
        writeUser(await users.getSelf({}, options), SELF).replace(/^\{"id":0,/, '{"id":null,'),
    }),
    route({
      method: "GET",
      path: "/users/list/roles",
      summary: "List the roles that users can have",
      rpc: rpc.listUserRoles,
      query: nameFilterQuery(limits),
      answer: jsonAnswer(arrayOf(closed({ id: COUNT, name: TEXT }))),
      async handle({ query, options }) {
        const { roles } = await users.listUserRoles(query, options);
        return roles.map(({ id, name }) => ({ id, name }));
      },
    }),
    route({
      method: "GET",
      path: "/contacts/list/owners",
      summary: "List the users that contacts can belong to",
      rpc: rpc.listOwners,
      right: { base: "lead:leads", verb: "view" },
      query: nameFilterQuery(limits),
      answer: jsonAnswer(arrayOf(closed({ id: COUNT, firstName: TEXT, lastName: TEXT }))),
      async handle({ query, options }) {
        const { owners } = await users.listOwners(query, options);
        return owners.map(({ id, firstName, lastName }) => ({ id, firstName, lastName }));
      },
    }),
    ...selfRoutes(context),
    ...otherRoutes(context),
  ];
}

/** The routes by which a caller changes its own account. */
function selfRoutes({ clients }: RoutesContext): Route[] {
  const users = clients.of(UserMethodService);
  return [
    route({
      method: "POST",
      path: "/users/self/password",
      summary: "Change one's own password",
      operation: "changeOwnPassword",
      body: objectBody(PASSWORD),
      answer: SUCCESS,
      handle: ({ body, exchange, options }) =>
        users.changePassword({ id: ownId(exchange), plainPassword: jsonBytes(body) }, options),
    }),
    route({
      method: "DELETE",
      path: "/users/self/sessions",
      summary: "Sign out everywhere",
      operation: "endOwnSessions",
      answer: ENDED,
      async handle({ exchange, options }) {
        const { sessions, grants } = await users.endSessions({ id: ownId(exchange) }, options);
        return { success: true, sessions, grants };
      },
    }),
    route({
      method: "POST",
      path: "/users/self/permissioncheck",
      summary: "Check one's own permissions",
      operation: "checkOwnPermissions",
      budget: "read",
      body: objectBody(PERMISSIONS),
      answer: HELD,
      // The caller may be an app, which has no id.
      handle: async ({ body, exchange, options }) =>
        (
          await users.checkPermissions(
            { userId: exchange.actor.id ?? 0, permissions: readPermissions(body) },
            options,
          )
        ).held,
    }),
  ];
}

/** The same with other accounts. */
function otherRoutes({ clients }: RoutesContext): Route[] {
  const users = clients.of(UserMethodService);
  const rpc = UserMethodService.method;
  return [
    route({
      method: "POST",
      path: "/users/:id/password",
      summary: "Change the password of a user",
      rpc: rpc.changePassword,
      right: right("edit"),
      parameters: { id: entityId("users", "edit") },
      body: objectBody(PASSWORD),
      answer: SUCCESS,
      handle: ({ parameters, body, options }) =>
        users.changePassword({ ...parameters, plainPassword: jsonBytes(body) }, options),
    }),
    route({
      method: "DELETE",
      path: "/users/:id/sessions",
      summary: "Sign a user out everywhere",
      rpc: rpc.endSessions,
      right: right("edit"),
      parameters: { id: entityId("users", "edit") },
      answer: ENDED,
      async handle({ parameters, options }) {
        const { sessions, grants } = await users.endSessions(parameters, options);
        return { success: true, sessions, grants };
      },
    }),
    route({
      method: "POST",
      path: "/users/:id/permissioncheck",
      summary: "Check the permissions of a user",
      rpc: rpc.checkPermissions,
      right: right("view"),
      budget: "read",
      parameters: { id: entityId("users", "view") },
      body: objectBody(PERMISSIONS),
      answer: HELD,
      handle: async ({ parameters: { id: userId }, body, options }) =>
        (await users.checkPermissions({ userId, permissions: readPermissions(body) }, options)).held,
    }),
  ];
}

const ENDED = jsonAnswer(closed({ success: { const: true }, sessions: COUNT, grants: COUNT }));
const HELD = jsonAnswer({ type: "object", additionalProperties: SWITCH });

function ownId({ actor }: Exchange): number {
  if (actor.id === null) throw badRequest("An API credential has no password and no session.");
  return actor.id;
}

/** One permission or several. */
function readPermissions({ permissions: value }: Record<string, unknown>): string[] {
  if (value === undefined || value === null || value === "") return [];
  const permissions = typeof value === "object" ? Object.values(value) : [value];
  if (permissions.some((permission) => typeof permission !== "string"))
    throw badRequest("Permissions must be text.");
  return permissions as string[];
}
