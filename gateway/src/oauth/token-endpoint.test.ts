import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { rateLimiter } from "../limits/rate-limit.ts";
import {
  CALLBACK,
  codeFields,
  codeFor,
  newProof,
  refreshFields,
  startOAuthScene,
  type TestClient,
  type TokenAnswer,
} from "../testing/oauth-scene.ts";
import { PASSWORD } from "../testing/scene.ts";
import { visitorOf } from "../testing/visitor.ts";

const scene = await startOAuthScene();
after(scene.stop);
const client = await scene.newClient();
const other = await scene.newClient({ name: "Other" });
const visitor = await scene.signedIn();

/** `error` is the word of OAuth; the API's own form says the same. */
function assertRefused({ status, body, headers }: TokenAnswer, error: string, expected = 400): void {
  assert.deepEqual([status, body.error], [expected, error], JSON.stringify(body));
  const [entry] = body.errors as { code: number; type: string; message: string }[];
  assert.deepEqual([entry?.code, entry?.type, entry?.message], [expected, error, body.error_description]);
  assert.equal(headers.get("cache-control"), "no-store");
}

const codeOf = (parameters = {}, app: TestClient = client) => codeFor(visitor, app, parameters);
const redeem = async (changes: Record<string, string> = {}, code?: string) =>
  scene.token({ ...codeFields(client, code ?? (await codeOf())), ...changes });
const tokensOf = async () => (await redeem()).body;
const isGood = async (accessToken: string) => (await scene.callApi(accessToken)).status === 200;

describe("authorization_code", () => {
  test("gives both tokens in the documented form, and nothing may keep them", async () => {
    const { status, headers, body } = await redeem();
    assert.equal(status, 200);
    assert.deepEqual(Object.keys(body), [
      "access_token",
      "expires_in",
      "token_type",
      "scope",
      "refresh_token",
    ]);
    assert.deepEqual([body.expires_in, body.token_type, body.scope], [3600, "bearer", ""]);
    assert.match(body.access_token, /^tdg_at_[\w-]{43}$/);
    assert.match(body.refresh_token, /^tdg_rt_[\w-]{43}$/);
    assert.equal(headers.get("cache-control"), "no-store");
    assert.equal(headers.get("pragma"), "no-cache");
    assert.ok(await isGood(body.access_token));
  });

  test("a code used twice ends the tokens of the first use", async () => {
    const code = await codeOf();
    const { body } = await redeem({}, code);
    assertRefused(await redeem({}, code), "invalid_grant");
    assertRefused(await scene.token(refreshFields(client, body.refresh_token)), "invalid_grant");
    assert.equal((await scene.callApi(body.access_token)).status, 401);
  });

  test("at most one of many concurrent uses of a code succeeds, and its tokens end", async () => {
    const code = await codeOf();
    const answers = await Promise.all(Array.from({ length: 20 }, () => redeem({}, code)));
    const winners = answers.filter(({ status }) => status === 200);
    assert.equal(winners.length, 1);
    assert.equal((await scene.callApi(winners[0]?.body.access_token ?? "")).status, 401);
  });

  test("a code of another client is refused and stays good for its own", async () => {
    const code = await codeOf();
    assertRefused(await scene.token(codeFields(other, code)), "invalid_grant");
    assert.equal((await redeem({}, code)).status, 200);
  });

  for (const [what, redirect_uri] of [
    ["another", "https://app.example/other"],
    ["one with a slash more", `${CALLBACK}/`],
    ["one with a login", "https://x@app.example/callback"],
    ["an encoded one", "https://app.example/%63allback"],
    ["one in capitals", CALLBACK.toUpperCase()],
  ] as const) {
    test(`${what} redirect_uri is refused and burns the code`, async () => {
      const code = await codeOf();
      assertRefused(await redeem({ redirect_uri }, code), "redirect_uri_mismatch");
      assertRefused(await redeem({}, code), "invalid_grant");
    });
  }

  test("without redirect_uri it is refused and the code is burnt", async () => {
    const code = await codeOf();
    assertRefused(await redeem({ redirect_uri: "" }, code), "invalid_request");
    assertRefused(await redeem({}, code), "invalid_grant");
  });

  test("codes that are expired, changed, made up or missing are refused", async () => {
    const code = await codeOf();
    for (const wrong of ["x", code.slice(0, -1), code.toLowerCase(), ` ${code}`, `${code}A`])
      assertRefused(await redeem({}, wrong), "invalid_grant");
    assertRefused(await redeem({ code: "" }, code), "invalid_request");
    await scene.execute("update oauth_codes set expires_at = now() where used_at is null");
    const late = await redeem({}, code);
    assertRefused(late, "invalid_grant");
    assert.equal(late.body.error_description, "The authorization code has expired");
  });

  test("a code lives between half a minute and a minute", async () => {
    await codeOf();
    const rows = await scene.execute(
      "select extract(epoch from max(expires_at) - now()) as seconds from oauth_codes",
    );
    const seconds = Number(rows[0]?.seconds);
    assert.ok(seconds > 30 && seconds <= 60, String(seconds));
  });

  test("the tables hold no code, token or secret that could be used", async () => {
    const code = await codeOf();
    const { body } = await redeem({}, code);
    const rows = await scene.execute(
      `select row_to_json(t)::text as row from oauth_tokens t
       union all select row_to_json(k)::text from oauth_codes k
       union all select row_to_json(c)::text from oauth_clients c
       union all select row_to_json(s)::text from sessions s`,
    );
    const all = rows.map(({ row }) => row).join();
    const sid = visitor.cookie().split("=")[1] ?? "";
    for (const secret of [code, body.access_token, body.refresh_token, client.secret, sid])
      assert.ok(secret.length > 40 && !all.includes(secret.slice(7)));
  });
});

describe("PKCE", () => {
  const redeemWith = async (
    code_verifier: string | undefined,
    challenge: string | undefined,
    app = client,
  ) => {
    const method = challenge === undefined ? undefined : "S256";
    const code = await codeOf({ code_challenge: challenge, code_challenge_method: method }, app);
    const fields = { ...codeFields(app, code), ...(code_verifier !== undefined && { code_verifier }) };
    return { code, answer: await scene.token(fields) };
  };

  test("the right verifier is accepted, of a public client without a secret too", async () => {
    const { verifier, challenge } = newProof();
    assert.equal((await redeemWith(verifier, challenge)).answer.status, 200);
    const app = await scene.newClient({ isPublic: true });
    assert.equal((await redeemWith(verifier, challenge, app)).answer.status, 200);
  });

  test("a wrong, missing, short or plain verifier is refused and burns the code", async () => {
    const { verifier, challenge } = newProof();
    for (const wrong of [newProof().verifier, undefined, "short", challenge, `${verifier}!`]) {
      const { code, answer } = await redeemWith(wrong, challenge);
      assertRefused(answer, "invalid_grant");
      const fields = { ...codeFields(client, code), code_verifier: verifier };
      assertRefused(await scene.token(fields), "invalid_grant");
    }
  });

  test("a verifier for a code that was asked for without a challenge is refused", async () => {
    assertRefused((await redeemWith(newProof().verifier, undefined)).answer, "invalid_grant");
  });
});

describe("refresh_token", () => {
  test("gives a new pair and keeps the family going", async () => {
    const first = await tokensOf();
    const second = (await scene.token(refreshFields(client, first.refresh_token))).body;
    assert.notEqual(second.refresh_token, first.refresh_token);
    assert.ok(await isGood(second.access_token));
    assert.equal((await scene.token(refreshFields(client, second.refresh_token))).status, 200);
  });

  test("a token used again ends the family, the newest tokens too", async () => {
    const first = await tokensOf();
    const second = (await scene.token(refreshFields(client, first.refresh_token))).body;
    assertRefused(await scene.token(refreshFields(client, first.refresh_token)), "invalid_grant");
    assertRefused(await scene.token(refreshFields(client, second.refresh_token)), "invalid_grant");
    for (const { access_token } of [first, second])
      assert.equal((await scene.callApi(access_token)).status, 401);
  });

  test("exactly one of fifty concurrent refreshes wins, and then the family ends", async () => {
    const { refresh_token } = await tokensOf();
    const fields = refreshFields(client, refresh_token);
    const answers = await Promise.all(Array.from({ length: 50 }, () => scene.token(fields)));
    const winners = answers.filter(({ status }) => status === 200);
    assert.equal(winners.length, 1);
    const won = winners[0]?.body.refresh_token ?? "";
    assertRefused(await scene.token(refreshFields(client, won)), "invalid_grant");
  });

  test("another client's token is refused and stays good", async () => {
    const { refresh_token } = await tokensOf();
    assertRefused(await scene.token(refreshFields(other, refresh_token)), "invalid_grant");
    assert.equal((await scene.token(refreshFields(client, refresh_token))).status, 200);
  });

  test("an access token, a changed one and none are refused", async () => {
    const { access_token, refresh_token } = await tokensOf();
    for (const wrong of [access_token, refresh_token.slice(0, -1), refresh_token.toUpperCase()])
      assertRefused(await scene.token(refreshFields(client, wrong)), "invalid_grant");
    assertRefused(await scene.token(refreshFields(client, "")), "invalid_request");
  });

  test("an expired one is refused; the family lives 90 days at most, however often it is refreshed", async () => {
    const { refresh_token } = await tokensOf();
    const days = async () => {
      const rows = await scene.execute(
        `select extract(epoch from max(expires_at) - now()) / 86400 as days from oauth_tokens
         where grant_id = (select max(id) from oauth_grants) and kind = 'refresh'`,
      );
      return Math.round(Number(rows[0]?.days));
    };
    assert.equal(await days(), 14);
    await scene.execute(
      "update oauth_grants set date_added = now() - interval '85 days' where id = (select max(id) from oauth_grants)",
    );
    await scene.execute(
      "update oauth_tokens set expires_at = now() + interval '1 minute' where grant_id = (select max(id) from oauth_grants)",
    );
    const { body } = await scene.token(refreshFields(client, refresh_token));
    assert.equal(await days(), 5);
    await scene.execute(
      "update oauth_tokens set expires_at = now() where grant_id = (select max(id) from oauth_grants)",
    );
    const late = await scene.token(refreshFields(client, body.refresh_token));
    assertRefused(late, "invalid_grant");
    assert.equal(late.body.error_description, "Refresh token has expired");
  });

  test("after the user was disabled it is refused", async () => {
    await scene.newUser("leaver");
    const person = visitorOf(scene.port);
    await person.signIn("leaver", PASSWORD);
    const { body } = await scene.token(codeFields(client, await codeFor(person, client)));
    await scene.execute("update users set is_published = false where username = 'leaver'");
    assertRefused(await scene.token(refreshFields(client, body.refresh_token)), "invalid_grant");
  });
});

describe("client_credentials", () => {
  const fieldsOf = ({ publicId, secret }: TestClient) => ({
    grant_type: "client_credentials",
    client_id: publicId,
    client_secret: secret,
  });

  test("gives an access token and nothing to refresh it with; the app acts by its role", async () => {
    const machine = await scene.newClient({ grants: ["client_credentials"], redirectUris: [], roleId: 1 });
    const { status, body } = await scene.token(fieldsOf(machine));
    assert.equal(status, 200);
    assert.ok(!Object.hasOwn(body, "refresh_token"));
    assert.ok(await isGood(body.access_token));
  });

  test("a client that was not given the grant is refused, and so is any for a password", async () => {
    assertRefused(await scene.token(fieldsOf(client)), "unauthorized_client");
    const password = { ...fieldsOf(client), grant_type: "password", username: "admin", password: "x" };
    assertRefused(await scene.token(password), "unauthorized_client");
  });
});

describe("the client", () => {
  const fields = async () => {
    const { client_id: _id, client_secret: _secret, ...others } = codeFields(client, await codeOf());
    return others;
  };
  const basic = (id: string, secret: string) => ({
    authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString("base64")}`,
  });

  test("may prove itself by Basic, with its id repeated in the body or not", async () => {
    const { publicId, secret } = client;
    assert.equal((await scene.token(await fields(), basic(publicId, secret))).status, 200);
    const repeated = { ...(await fields()), client_id: publicId };
    assert.equal((await scene.token(repeated, basic(publicId, secret))).status, 200);
  });

  test("a client that proves itself in two ways at once is refused", async () => {
    const { publicId, secret } = client;
    for (const more of [{ client_secret: secret }, { client_id: other.publicId }])
      assertRefused(
        await scene.token({ ...(await fields()), ...more }, basic(publicId, secret)),
        "invalid_request",
      );
  });

  test("a client that fails gets 401 with a challenge by Basic, else 400, whether it exists or not", async () => {
    const unknown = `1${client.publicId}`;
    for (const id of [client.publicId, unknown, "x", "1_x", ""]) {
      const answer = await scene.token(await fields(), basic(id, "wrong"));
      assertRefused(answer, "invalid_client", 401);
      assert.match(answer.headers.get("www-authenticate") ?? "", /^Basic /);
      const sent = { ...(await fields()), client_id: id, client_secret: "wrong" };
      assertRefused(await scene.token(sent), "invalid_client");
    }
    assertRefused(await scene.token({ ...(await fields()), client_id: client.publicId }), "invalid_client");
    assertRefused(await scene.token(await fields()), "invalid_client");
  });

  test("a public client must not send a secret", async () => {
    const app = await scene.newClient({ isPublic: true });
    assertRefused(await scene.token({ ...refreshFields(app, "x"), client_secret: "x" }), "invalid_client");
  });

  test("is noted as used", async () => {
    const app = await scene.newClient();
    await scene.token(codeFields(app, await codeOf({}, app)));
    const rows = await scene.execute("select last_used_at from oauth_clients where id = $1", [app.id]);
    assert.ok(rows[0]?.last_used_at);
  });
});

describe("the request", () => {
  const url = (query: Record<string, string>) => `${scene.base}/oauth/v2/token?${new URLSearchParams(query)}`;

  test("may be JSON", async () => {
    const body = JSON.stringify(codeFields(client, await codeOf()));
    const headers = { "content-type": "application/json" };
    const response = await fetch(url({}), { method: "POST", body, headers });
    assert.equal(response.status, 200);
  });

  test("may be a GET, but a secret in a query is refused with every method", async () => {
    const { client_secret: _, ...open } = codeFields(client, await codeOf());
    const authorization = `Basic ${Buffer.from(`${client.publicId}:${client.secret}`).toString("base64")}`;
    assert.equal((await fetch(url(open), { headers: { authorization } })).status, 200);
    for (const method of ["GET", "POST"]) {
      const response = await fetch(url(codeFields(client, await codeOf())), { method });
      assert.equal(response.status, 400);
      assert.equal(((await response.json()) as { error: string }).error, "invalid_request");
    }
  });

  test("with a parameter twice, of another shape, or without a grant type is refused", async () => {
    const twice = new URLSearchParams(codeFields(client, await codeOf()));
    twice.append("code", "x");
    const texts = ['{"grant_type":1}', "[1]", "{", "null", '{"client_id":{"a":1}}'];
    for (const body of [twice, ...texts]) {
      const type = typeof body === "string" ? "application/json" : "application/x-www-form-urlencoded";
      const response = await fetch(url({}), { method: "POST", body, headers: { "content-type": type } });
      const { errors } = (await response.json()) as { errors: unknown[] };
      assert.deepEqual([response.status, errors.length], [400, 1], String(body));
    }
    for (const grant_type of ["", "junk", "__proto__", "constructor"])
      assertRefused(await redeem({ grant_type }), "invalid_request");
  });

  test("with a scope is refused", async () => assertRefused(await redeem({ scope: "all" }), "invalid_scope"));

  test("by another method is 405", async () => {
    const { status, headers } = await fetch(url({}), { method: "PUT" });
    assert.deepEqual([status, headers.get("allow")], [405, "GET, POST"]);
  });
});

describe("limits", () => {
  test("one address and one client get so many answers; a stranger cannot use up a client's", async () => {
    const limit = (name: string, points: number) =>
      rateLimiter({ name, points, windowSeconds: 60, redis: undefined });
    const limited = await startOAuthScene({
      tokenRates: { client: limit("client", 2), address: limit("address", 6) },
    });
    after(limited.stop);
    const app = await limited.newClient();
    const guess = { grant_type: "refresh_token", client_id: app.publicId, client_secret: "x" };
    for (let count = 0; count < 3; count += 1) assertRefused(await limited.token(guess), "invalid_client");
    const fields = refreshFields(app, "x");
    for (let count = 0; count < 2; count += 1) assertRefused(await limited.token(fields), "invalid_grant");
    for (const last of [fields, guess]) {
      const { status, body, headers } = await limited.token(last);
      assert.deepEqual([status, body.error], [429, "temporarily_unavailable"]);
      assert.ok(Number(headers.get("retry-after")) > 0);
    }
  });
});

test("while the API is off everything under /oauth and the pages are 403", async () => {
  const off = await startOAuthScene({ isEnabled: false });
  after(off.stop);
  for (const path of [
    "/oauth/v2/token",
    "/oauth/v2/authorize",
    "/oauth/x",
    "/credentials",
    "/authorisations",
  ])
    assert.equal((await fetch(`${off.base}${path}`)).status, 403, path);
});
