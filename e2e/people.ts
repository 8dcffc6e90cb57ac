import assert from "node:assert/strict";
import { type Client, createClient, type Entity } from "./client.ts";

export const PASSWORD = "Vermilion-Kettle-42";

export interface Person {
  id: number;
  username: string;
  roleId: number;
  api: Client;
}

let count = 0;

/** A user body that is good but for what is said otherwise. */
export function personBody(
  role: number,
  members: object = {},
): Record<string, unknown> & { username: string } {
  const username = `person-${process.pid}-${++count}`;
  const email = `${username}@example.com`;
  const plainPassword = { password: PASSWORD, confirm: PASSWORD };
  return { username, email, firstName: "Ada", lastName: "Lovelace", role, plainPassword, ...members };
}

/** Makes what `path` holds and gives it back. */
export async function make(api: Client, path: string, one: string, body: object): Promise<Entity> {
  const answer = await api("POST", `${path}/new`, body);
  assert.equal(answer.status, 201, answer.text);
  return (answer.body as unknown as Record<string, Entity>)[one] as Entity;
}

/** A user with a role of their own that gives these permissions. */
export async function newPerson(
  { api, baseUrl }: { api: Client; baseUrl: string },
  rawPermissions: Record<string, string[]>,
): Promise<Person> {
  const role = await make(api, "roles", "role", { name: `Role ${++count}`, rawPermissions });
  const body = personBody(role.id);
  const { id } = await make(api, "users", "user", body);
  const { username } = body;
  return { id, username, roleId: role.id, api: createClient(baseUrl, { username, password: PASSWORD }) };
}
