import { exchange } from "./exchange.ts";
import { openPage, signIn, submit } from "./pages.ts";
import { settings } from "./settings.ts";

/** An API credential. */
export interface Credential {
  id: number;
  clientId: string;
  clientSecret: string;
}

export interface Token {
  value: string;
  /** In milliseconds since 1970. */
  issuedAt: number;
  lifetimeMs: number;
}

const PREPARING = { name: "preparing" };
const ROLE = "Administrator";
/** Where an app would wait: nobody goes there, the code is read from the way to it. */
export const CALLBACK = "https://app.example/callback";

/** Makes a credential the way an administrator does, on the page for them. */
export function createCredential(name: string, grants: string[]): Credential {
  signIn(PREPARING);
  const page = openPage("/credentials/new", PREPARING);
  const role = page.html().find(`select[name="role"] option:contains("${ROLE}")`);
  const isOnItsOwn = grants.includes("client_credentials");
  const answer = submit(page, {
    action: "/credentials/new",
    fields: {
      name,
      kind: "confidential",
      grants,
      redirectUris: isOnItsOwn ? "" : CALLBACK,
      role: isOnItsOwn ? (role.attr("value") ?? "") : "",
    },
    status: 200,
    tags: PREPARING,
  });
  const codes = answer.html().find("code.block");
  const clientId = codes.eq(0).text();
  return { id: Number.parseInt(clientId, 10), clientId, clientSecret: codes.eq(1).text() };
}

/** With every token that came from it. */
export function deleteCredential({ id }: Credential): void {
  signIn(PREPARING);
  const page = openPage("/credentials", PREPARING);
  submit(page, { action: `/credentials/${id}/delete`, tags: PREPARING });
}

export interface TokenAnswer {
  access_token: string;
  refresh_token: string;
  expires_in: number;
}

export const TOKEN = "POST /oauth/v2/token";

/** Asks for a token; the fields are those of the grant. */
export function requestTokens(
  { clientId, clientSecret }: Credential,
  fields: Record<string, string>,
  tags?: Record<string, string>,
): TokenAnswer {
  const body = { client_id: clientId, client_secret: clientSecret, ...fields };
  const url = `${settings.baseUrl}/oauth/v2/token`;
  const response = exchange({ endpoint: TOKEN, url, body, ...(tags && { tags }) });
  return response.json() as unknown as TokenAnswer; // RFC 6749, 5.1
}

/** A token for the credential itself. */
export function requestToken(credential: Credential): Token {
  const fields = { grant_type: "client_credentials" };
  const { access_token: value, expires_in } = requestTokens(credential, fields, PREPARING);
  return { value, issuedAt: Date.now(), lifetimeMs: expires_in * 1_000 };
}
