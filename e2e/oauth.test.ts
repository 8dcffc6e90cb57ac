import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type Visitor, visitorOf } from "@tidings/gateway/testing/visitor";
import { processes } from "@tidings/scripts/processes";
import { eventually } from "@tidings/testkit/eventually";
import { fetchApi } from "./client.ts";
import { createOAuthClient, type OAuthClient, requestTokens, type Tokens } from "./oauth-client.ts";
import { ADMINISTRATOR, startTestStack } from "./stack.ts";

const CALLBACK = "https://app.example/callback";

const stack = await startTestStack({ replicas: { gateway: 2 }, env: { gateway: { LOG_LEVEL: "debug" } } });
after(stack.stop);
const [first = "", second = ""] = stack.gateways.map(({ baseUrl }) => baseUrl);

const send = (baseUrl: string, accessToken: string, path = "contacts", body?: object) =>
  fetchApi(baseUrl, {
    method: body ? "POST" : "GET",
    path,
    body,
    headers: { authorization: `Bearer ${accessToken}` },
  });

async function codeFor(visitor: Visitor, { client_id }: OAuthClient): Promise<string> {
  const query = new URLSearchParams({ client_id, redirect_uri: CALLBACK, response_type: "code" });
  const path = `/oauth/v2/authorize?${query}`;
  const page = await visitor.get(path);
  const { location } = page.status === 303 ? page : await visitor.post(path, { accepted: "1" });
  return new URL(location).searchParams.get("code") ?? "";
}

describe("an app that acts for a user", () => {
  let client: OAuthClient;
  let tokens: Tokens["body"];
  const refresh = (baseUrl: string, refresh_token: string) =>
    requestTokens(baseUrl, { ...client, grant_type: "refresh_token", refresh_token });

  before(async () => {
    client = await createOAuthClient(stack.database, ["--name", "App", "--redirect-uri", CALLBACK]);
    const visitor = visitorOf(Number(new URL(first).port));
    await visitor.signIn(ADMINISTRATOR.username, ADMINISTRATOR.password);
    const code = await codeFor(visitor, client);
    const fields = { ...client, grant_type: "authorization_code", redirect_uri: CALLBACK, code };
    // The gateway that gave the code need not be the one that takes it.
    tokens = (await requestTokens(second, fields)).body;
  });

  test("is recorded as that user, by every gateway", async () => {
    for (const baseUrl of [first, second]) {
      const { status, body } = await send(baseUrl, tokens.access_token, "contacts/new", { firstname: "A" });
      assert.deepEqual([status, body.contact.createdByUser], [201, "Admin User"]);
    }
  });

  test("exactly one of many concurrent refreshes, spread over the gateways, wins, and the family ends", async () => {
    const { body } = await refresh(first, tokens.refresh_token);
    for (const baseUrl of [first, second]) assert.equal((await send(baseUrl, body.access_token)).status, 200);
    const answers = await Promise.all(
      Array.from({ length: 16 }, (_, index) => refresh(index % 2 ? first : second, body.refresh_token)),
    );
    const won = answers.filter(({ status }) => status === 200);
    assert.equal(won.length, 1);
    await eventually(
      async () => {
        for (const baseUrl of [first, second])
          for (const token of [tokens.access_token, body.access_token, won[0]?.body.access_token ?? ""])
            assert.equal((await send(baseUrl, token)).status, 401);
      },
      { timeoutMs: 5_000, intervalMs: 200 },
    );
  });
});

describe("an app that acts on its own", () => {
  test("is recorded under its own name, and has the rights of its role", async () => {
    const options = ["--name", "Nightly Import", "--grant", "client_credentials"];
    const client = await createOAuthClient(stack.database, [...options, "--role", "Administrator"]);
    const { body } = await requestTokens(first, { ...client, grant_type: "client_credentials" });
    assert.equal(body.refresh_token, undefined);
    const { contact } = (await send(second, body.access_token, "contacts/new", { firstname: "A" })).body;
    assert.deepEqual([contact.createdBy, contact.createdByUser], [null, "Nightly Import"]);
  });
});

describe("the command line", () => {
  for (const [what, options, message] of [
    ["no name", [], /npm run credentials/],
    ["a redirect URI over http", ["--name", "X", "--redirect-uri", "http://x.example"], /redirectUris/],
    ["an unknown grant", ["--name", "X", "--grant", "password"], /no grant password/],
    ["an unknown role", ["--name", "X", "--grant", "client_credentials", "--role", "x"], /no role x/],
  ] as [string, string[], RegExp][]) {
    test(`refuses ${what} and says why`, async () => {
      await assert.rejects(createOAuthClient(stack.database, options), message);
    });
  }

  test("makes a public client without a secret", async () => {
    const options = ["--name", "X", "--redirect-uri", CALLBACK, "--public"];
    assert.deepEqual(Object.keys(await createOAuthClient(stack.database, options)), ["client_id"]);
  });
});

test("no process writes a token, a code or a secret to its log", () => {
  const all = ["gateway-2", ...processes.map(({ name }) => name)].flatMap(stack.lines.of).join("\n");
  assert.match(all, /oauth\/v2\/token/);
  assert.doesNotMatch(all, /tdg_|correct horse/);
});
