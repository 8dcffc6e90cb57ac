import { check } from "k6";
import http from "k6/http";
import {
  CALLBACK,
  type Credential,
  createCredential,
  deleteCredential,
  requestTokens,
  TOKEN,
} from "../credential.ts";
import { exchange } from "../exchange.ts";
import { journey } from "../journey.ts";
import { READ, SIGN_IN } from "../limits.ts";
import { signIn, submit } from "../pages.ts";
import { settings } from "../settings.ts";

const AUTHORIZE = "/oauth/v2/authorize";
const REVOKE = "POST /oauth/v2/revoke";

/**
 * Somebody signs in and lets an app act for them; the app asks who it is acting for, refreshes its token and gives it back. The
 * product gives a credential ten tokens a minute and an address thirty: an iteration takes three of them.
 */
export const oauthTokens = journey({
  perMinute: 2,
  isLimited: true,
  endpoints: {
    "GET /oauth/v2/authorize_login": SIGN_IN,
    "POST /oauth/v2/authorize_login_check": SIGN_IN,
    [`GET ${AUTHORIZE}`]: SIGN_IN,
    [TOKEN]: SIGN_IN,
    [REVOKE]: SIGN_IN,
    "GET /users/self": READ,
  },
  prepare: (_api, run) => createCredential(`App ${run}`, ["authorization_code", "refresh_token"]),
  iterate(_api, app, mark) {
    signIn();
    const grant = { grant_type: "authorization_code", redirect_uri: CALLBACK, code: codeFor(app, mark) };
    const first = requestTokens(app, grant);
    whoAmI(first.access_token);
    const second = requestTokens(app, { grant_type: "refresh_token", refresh_token: first.refresh_token });
    whoAmI(second.access_token);
    const body = { client_id: app.clientId, client_secret: app.clientSecret, token: second.access_token };
    exchange({ endpoint: REVOKE, url: `${settings.baseUrl}/oauth/v2/revoke`, body });
  },
  remove: (_api, app) => deleteCredential(app),
});

/** The user is asked the first time and remembered from then on. */
function codeFor({ clientId }: Credential, state: string): string {
  const query = `client_id=${clientId}&redirect_uri=${encodeURIComponent(CALLBACK)}&response_type=code&state=${state}`;
  const path = `${AUTHORIZE}?${query}`;
  const page = http.get(`${settings.baseUrl}${path}`, { redirects: 0, tags: { name: `GET ${AUTHORIZE}` } });
  const answer = page.status === 200 ? submit(page, { action: path, fields: { accepted: "1" } }) : page;
  const { Location: location = "" } = answer.headers;
  const code = /[?&]code=([^&]+)/.exec(location)?.[1] ?? "";
  check(location, { "the app gets a code": (text) => code !== "" && text.includes(`state=${state}`) });
  return code;
}

function whoAmI(accessToken: string): void {
  const headers = { authorization: `Bearer ${accessToken}` };
  exchange({ endpoint: "GET /users/self", url: `${settings.baseUrl}/api/users/self`, headers });
}
