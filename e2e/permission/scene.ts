import assert from "node:assert/strict";
import { withNeeded } from "@tidings/gateway/identity/permissions";
import { eventually } from "@tidings/testkit/eventually";
import { type Client, createClient, type Entity } from "../client.ts";
import { createOAuthClient, requestTokens } from "../oauth-client.ts";
import { make, PASSWORD, personBody } from "../people.ts";
import { query } from "../query.ts";
import { startTestStack, type TestStack } from "../stack.ts";
import { isPowerless, type Principal } from "./oracle.ts";
import { makeThings, type Owned, type Owners, ownedResources, type Things } from "./things.ts";

/** A principal together with a way to send as it. */
export interface Sender extends Principal {
  api: Client;
}

/** Entities of every kind, ready to be sent to. */
export interface Made {
  things: Things;
  /** The contacts that the entities belong to, where they belong to contacts. */
  contacts: Things | undefined;
  owners: Owners;
}

/** A running system with somebody who owns what is not the principal's. */
export async function startPermissionScene() {
  const stack = await startTestStack({ env: { gateway: { TRUSTED_PROXIES: "127.0.0.0/8" } } });
  const { api, baseUrl, database } = stack;
  const { id: roleId } = await make(api, "roles", "role", { name: "Nothing" });
  const bystander = await make(api, "users", "user", personBody(roleId));
  const untouched = new Map<string, Promise<Made>>();

  const newThings = async (resource: Owned, owners: Owners): Promise<Made> => {
    const isOfContacts = resource.owner === "contact";
    const contacts = isOfContacts ? (await newThings(resourceOf("contacts"), owners)).things : undefined;
    const things = await makeThings(stack, resource, { owners, roleId, contacts });
    return { things, contacts, owners };
  };

  const newUser = async (role: number, members: object = {}) => {
    const body = personBody(role, members);
    const { id } = await make(api, "users", "user", body);
    // Mails to oneself go to an address that content has heard of.
    await eventually(async () =>
      assert.equal((await query(database, `select from content.users where id = ${id}`)).length, 1),
    );
    return { id, api: createClient(baseUrl, { username: body.username, password: PASSWORD }) };
  };

  return {
    stack,
    /** The id of a role without rights. */
    roleId,
    newUser,

    /** New entities of every kind. A sender without a right to any uses entities that nobody changes. */
    thingsFor(sender: Sender, resource: Owned): Promise<Made> {
      // An app owns nothing: what would be its own is somebody else's.
      const owners = { own: sender.userId ?? bystander.id, other: bystander.id };
      if (!isPowerless(sender, resource.base)) return newThings(resource, owners);
      const known = untouched.get(resource.path);
      const made = known ?? newThings(resource, { own: bystander.id, other: bystander.id });
      untouched.set(resource.path, made);
      return made;
    },

    async administrator(): Promise<Sender> {
      const { id } = JSON.parse((await api("GET", "users/self")).text) as Entity;
      return { userId: id, isSignedIn: true, isAdmin: true, permissions: {}, api };
    },

    /** A user of a role that has these rights, with what the service adds to them. */
    async userWith(rawPermissions: Record<string, string[]>): Promise<Sender> {
      const role = await make(api, "roles", "role", { name: "Some", rawPermissions });
      const user = await newUser(role.id);
      const permissions = withNeeded(rawPermissions);
      return { userId: user.id, isSignedIn: true, isAdmin: false, permissions, api: user.api };
    },

    appWith: (rawPermissions: Record<string, string[]>) => appWith(stack, rawPermissions),
  };
}

/** An application that acts on its own. */
async function appWith(
  { api, baseUrl, database }: TestStack,
  rawPermissions: Record<string, string[]>,
): Promise<Sender> {
  const role = await make(api, "roles", "role", { name: "App", rawPermissions });
  const options = ["--name", "App", "--grant", "client_credentials", "--role", String(role.id)];
  const client = await createOAuthClient(database, options);
  const { body } = await requestTokens(baseUrl, { ...client, grant_type: "client_credentials" });
  const headers = { authorization: `Bearer ${body.access_token}` };
  const send = createClient(baseUrl);
  return {
    userId: undefined,
    isSignedIn: true,
    isAdmin: false,
    permissions: withNeeded(rawPermissions),
    api: (method, path, sent) => send(method, path, sent, headers),
  };
}

export type PermissionScene = Awaited<ReturnType<typeof startPermissionScene>>;

export function resourceOf(path: string): Owned {
  const resource = ownedResources.find((candidate) => candidate.path === path);
  assert.ok(resource, path);
  return resource;
}
