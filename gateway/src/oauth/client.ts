import { type Database, prepared } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import type { Queryable } from "@tidings/database/transaction";
import { digest, isSameDigest, newSecret } from "../secret.ts";

const LENGTH_MAX = 2_000;
/** Host names and IPv6 addresses as `URL` writes them. What else it lets pass could end a directive of a policy. */
const HOST = /^([a-z0-9_.-]+|\[[0-9a-f:.]+\])$/;
const LOOPBACK = new Set(["localhost", "127.0.0.1", "[::1]"]);

/**
 * May this be registered? An absolute URI without fragment, login and wildcard: `https`, `http` on this machine only
 * (RFC 9700, 2.6), or a scheme of an app's own, which has a dot (RFC 8252, 7.1).
 */
export function isRedirectUri(text: string): boolean {
  if (text.length > LENGTH_MAX || !/^[\x21-\x7e]+$/.test(text) || /[\\#*"<>]/.test(text)) return false;
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, username, password } = new URL(text);
  if (username !== "" || password !== "") return false;
  if (protocol === "https:") return HOST.test(hostname);
  if (protocol === "http:") return LOOPBACK.has(hostname);
  return protocol.includes(".");
}

/** The value of `form-action` in a CSP that lets a form end in a redirect to the URI. */
export function formActionOf(redirectUri: string): string {
  const { protocol, origin } = new URL(redirectUri);
  return origin === "null" ? protocol : origin;
}

/** The URI with parameters added to those it has. */
export function withParameters(redirectUri: string, parameters: Record<string, string | undefined>): string {
  const added = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) added.set(name, value);
  const separator = !redirectUri.includes("?") ? "?" : /[?&]$/.test(redirectUri) ? "" : "&";
  return `${redirectUri}${separator}${added}`;
}

export const GRANT_TYPES = ["authorization_code", "refresh_token", "client_credentials"] as const;
export type GrantType = (typeof GRANT_TYPES)[number];

/** An API credential: an application that may ask for tokens. */
export interface OAuthClient {
  id: number;
  /** `<id>_<random>`: what the application calls itself. */
  publicId: string;
  name: string;
  /** Undefined for a public client, which has no secret. */
  secretHash: string | undefined;
  /** The secret before it, as long as that still works. */
  previousSecretHash: string | undefined;
  redirectUris: string[];
  grants: GrantType[];
  /** The role of an application that acts without a user. */
  roleId: number | undefined;
  isPublic: boolean;
}

export const CLIENT_COLUMNS = `c.id, c.random_id, c.name, c.secret_hash, to_json(c.redirect_uris) as redirect_uris,
  to_json(c.grants) as grants, c.role_id, c.is_public,
  case when c.previous_secret_until > now() then c.previous_secret_hash end as previous_secret_hash`;

const findStatement = prepared(
  "oauth_client_by_public_id",
  `select ${CLIENT_COLUMNS} from oauth_clients c where c.id = $1 and c.random_id = $2`,
);

const PUBLIC_ID = /^([1-9]\d{0,8})_([A-Za-z0-9_-]{1,64})$/;

/** The client of a public id, for any caller. */
export async function findClient(
  database: Database,
  publicId: string,
  deadlineMs: number,
): Promise<OAuthClient | undefined> {
  const [, id, randomId] = PUBLIC_ID.exec(publicId) ?? [];
  if (id === undefined) return undefined;
  const [row] = await database.query(findStatement, [id, randomId], deadlineMs);
  return row && clientOf(row);
}

/** Does this secret belong to the client? A public client has none and must not send any. */
export function hasSecret(client: OAuthClient, secret: string | undefined): boolean {
  if (client.secretHash === undefined || secret === undefined) return client.secretHash === secret;
  const sent = digest(secret);
  const isPrevious = client.previousSecretHash !== undefined && isSameDigest(sent, client.previousSecretHash);
  return isSameDigest(sent, client.secretHash) || isPrevious;
}

const touchStatement = prepared(
  "oauth_client_used",
  `update oauth_clients set last_used_at = now()
   where id = $1 and (last_used_at is null or last_used_at < now() - interval '1 minute')`,
);

/** Notes that the client got a token, to the minute: the row would else be the bottleneck of a busy client. */
export async function touchClient(queryable: Queryable, clientId: number): Promise<void> {
  await queryable.query(touchStatement, [clientId]);
}

export function clientOf(row: Row): OAuthClient {
  const {
    id,
    random_id,
    name,
    secret_hash,
    previous_secret_hash,
    redirect_uris,
    grants,
    role_id,
    is_public,
  } = row;
  return {
    id: Number(id),
    publicId: `${id}_${random_id}`,
    name: name ?? "",
    secretHash: secret_hash ?? undefined,
    previousSecretHash: previous_secret_hash ?? undefined,
    redirectUris: JSON.parse(redirect_uris ?? "[]"),
    grants: JSON.parse(grants ?? "[]"),
    roleId: role_id ? Number(role_id) : undefined,
    isPublic: is_public === "t",
  };
}

/** A new secret and what is stored of it. */
export function issueSecret(): { secret: string; hash: string } {
  const secret = newSecret("cs");
  return { secret, hash: digest(secret) };
}
