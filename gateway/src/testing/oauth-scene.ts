import assert from "node:assert/strict";
import { hash, randomBytes } from "node:crypto";
import { backgroundDeadline, type Database } from "@tidings/database/database";
import { createOutbox } from "@tidings/messaging/outbox";
import type { ClientDraft } from "../oauth/client-draft.ts";
import { createClient } from "../oauth/manage-clients.ts";
import { PASSWORD, type SceneOptions, startScene } from "./scene.ts";
import { type Visitor, visitorOf } from "./visitor.ts";

export const CALLBACK = "https://app.example/callback";

export interface TestClient {
  id: number;
  publicId: string;
  secret: string;
}

export interface TokenAnswer {
  status: number;
  headers: Headers;
  body: Record<string, unknown> & { access_token: string; refresh_token: string; error: string };
}

/** A gateway with what an app needs to get tokens from it. */
export async function startOAuthScene(options: SceneOptions = {}) {
  const scene = await startScene(options);
  const base = `http://127.0.0.1:${scene.port}`;

  const execute = (text: string, values: unknown[] = []) =>
    scene.database.query({ text }, values, backgroundDeadline());

  return {
    ...scene,
    base,
    newClient: (draft: Partial<ClientDraft> = {}) => newClient(scene.database, draft),
    execute,
    post: (path: string, fields: Record<string, string>, headers?: Record<string, string>) =>
      post(`${base}${path}`, fields, headers),
    token: (fields: Record<string, string>, headers?: Record<string, string>) =>
      post(`${base}/oauth/v2/token`, fields, headers),
    callApi: async (accessToken: string) => {
      const headers = { authorization: `Bearer ${accessToken}` };
      const response = await fetch(`${base}/api/tags`, { headers });
      return { status: response.status, headers: response.headers, text: await response.text() };
    },
    /** An administrator before a browser. */
    async signedIn(): Promise<Visitor> {
      const visitor = visitorOf(scene.port);
      assert.equal((await visitor.signIn("admin", PASSWORD)).status, 303);
      return visitor;
    },
    /** A user with rights, of a role of their own; the password is everybody's. */
    async newUser(username: string, permissions: Record<string, string[]> = { "api:access": ["full"] }) {
      const [role] = await execute("insert into roles (name, permissions) values ($1, $2) returning id", [
        username,
        JSON.stringify(permissions),
      ]);
      await execute(
        `insert into users (username, email, first_name, last_name, password_hash, role_id)
         select $1, $1 || '@x.example', $1, 'Person', password_hash, $2 from users where username = 'admin'`,
        [username, role?.id],
      );
      await keepNames(execute, username);
    },
    async close() {
      await scene.stop();
    },
  };
}

async function newClient(database: Database, draft: Partial<ClientDraft>): Promise<TestClient> {
  const wanted: ClientDraft = {
    name: "App",
    redirectUris: [CALLBACK],
    grants: ["authorization_code", "refresh_token"],
    isPublic: false,
    roleId: undefined,
    ...draft,
  };
  const author = { actor: undefined, clientIp: undefined };
  const { client, secret } = await createClient(
    { database: database, outbox: createOutbox() },
    wanted,
    author,
    backgroundDeadline(),
  );
  return { id: client.id, publicId: client.publicId, secret: secret ?? "" };
}

async function post(
  url: string,
  fields: Record<string, string>,
  headers: Record<string, string> = {},
): Promise<TokenAnswer> {
  const body = new URLSearchParams(fields);
  const response = await fetch(url, { method: "POST", body, headers });
  return {
    status: response.status,
    headers: response.headers,
    body: (await response.json()) as TokenAnswer["body"],
  };
}

/** Reserves the sign-in names of a user whose row a test inserts. */
export async function keepNames(
  execute: (text: string, values?: unknown[]) => Promise<unknown>,
  username: string,
): Promise<void> {
  await execute(
    `insert into user_names (name, user_id)
     select name, id from users, unnest(array[username, email]) as name where username = $1`,
    [username],
  );
}

export type OAuthScene = Awaited<ReturnType<typeof startOAuthScene>>;

export function authorizePath(
  client: TestClient,
  parameters: Record<string, string | undefined> = {},
): string {
  const query = new URLSearchParams();
  const all = { client_id: client.publicId, redirect_uri: CALLBACK, response_type: "code", ...parameters };
  for (const [name, value] of Object.entries(all)) if (value !== undefined) query.append(name, value);
  return `/oauth/v2/authorize?${query}`;
}

/** Accepts where the visitor is asked, and gives the code that the app gets. */
export async function codeFor(
  visitor: Visitor,
  client: TestClient,
  parameters: Record<string, string | undefined> = {},
): Promise<string> {
  const path = authorizePath(client, parameters);
  const page = await visitor.get(path);
  const answer = page.status === 200 ? await visitor.post(path, { accepted: "1" }) : page;
  assert.equal(answer.status, 303, answer.text);
  const code = new URL(answer.location).searchParams.get("code");
  assert.ok(code, answer.location);
  return code;
}

export function codeFields(client: TestClient, code: string): Record<string, string> {
  return {
    grant_type: "authorization_code",
    client_id: client.publicId,
    client_secret: client.secret,
    redirect_uri: CALLBACK,
    code,
  };
}

export function refreshFields(client: TestClient, refreshToken: string): Record<string, string> {
  const { publicId: client_id, secret: client_secret } = client;
  return { grant_type: "refresh_token", client_id, client_secret, refresh_token: refreshToken };
}

/** A verifier and its challenge (RFC 7636). */
export function newProof(): { verifier: string; challenge: string } {
  const verifier = randomBytes(32).toString("base64url");
  return { verifier, challenge: hash("sha256", verifier, "base64url") };
}
