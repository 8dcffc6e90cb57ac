import { randomBytes } from "node:crypto";
import { type Database, prepared } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import type { Transaction } from "@tidings/database/transaction";
import { domainEvent, type Outbox } from "@tidings/messaging/outbox";
import { ClientSchema } from "@tidings/proto/tidings/identity/v1/client";
import { notFound, taken } from "@tidings/rpc/fault";
import { appendAudit } from "../identity/audit.ts";
import { digest } from "../secret.ts";
import { CLIENT_COLUMNS, clientOf, issueSecret, type OAuthClient } from "./client.ts";
import type { ClientDraft } from "./client-draft.ts";

export interface RoleName {
  id: number;
  name: string;
}

const ROLES_MAX = 500;
const rolesStatement = prepared(
  "oauth_roles",
  `select id, name from roles order by lower(name), id limit ${ROLES_MAX}`,
);

/** The roles that a client may be given. */
export async function listRoles(database: Database, deadlineMs: number): Promise<RoleName[]> {
  const rows = await database.query(rolesStatement, [], deadlineMs);
  return rows.map(({ id, name }) => ({ id: Number(id), name: name ?? "" }));
}

/** The person who changes a client; nobody in particular at the command line. */
export interface Author {
  actor: { kind: string; id: number | null; name: string } | undefined;
  clientIp: string | undefined;
}

export interface ListedClient extends OAuthClient {
  roleName: string | undefined;
  /** In UTC, to the minute. */
  dateAdded: string;
  /** When it last got a token. */
  lastUsed: string | undefined;
}

/** A client together with its secret, which is known only now; a public client has none. */
export interface ClientWithSecret {
  client: OAuthClient;
  secret: string | undefined;
}

export const LIST_MAX = 500;
const MINUTES = "'YYYY-MM-DD HH24:MI'";
const SELECT = `select ${CLIENT_COLUMNS}, r.name as role_name,
    to_char(c.date_added at time zone 'UTC', ${MINUTES}) as date_added,
    to_char(c.last_used_at at time zone 'UTC', ${MINUTES}) as last_used
  from oauth_clients c left join roles r on r.id = c.role_id`;

const listStatement = prepared(
  "oauth_clients_list",
  `${SELECT} order by lower(c.name), c.id limit ${LIST_MAX + 1}`,
);
const getStatement = prepared("oauth_client_get", `${SELECT} where c.id = $1`);

/** The clients by name: one more than are shown, where there are more. */
export async function listClients(database: Database, deadlineMs: number): Promise<ListedClient[]> {
  return (await database.query(listStatement, [], deadlineMs)).map(listedClientOf);
}

export async function getClient(
  database: Database,
  id: number,
  deadlineMs: number,
): Promise<ListedClient | undefined> {
  const [row] = await database.query(getStatement, [id], deadlineMs);
  return row && listedClientOf(row);
}

function listedClientOf(row: Record<string, string | null>): ListedClient {
  const { role_name, date_added, last_used } = row;
  return {
    ...clientOf(row),
    roleName: role_name ?? undefined,
    dateAdded: date_added ?? "",
    lastUsed: last_used ?? undefined,
  };
}

const insertStatement = prepared(
  "oauth_client_insert",
  `with c as (
     insert into oauth_clients (random_id, name, secret_hash, redirect_uris, grants, role_id, is_public)
     values ($1, $2, $3, $4, $5, $6, $7) on conflict (random_id) do nothing returning *)
   select ${CLIENT_COLUMNS}, c.version from c`,
);

/** The database of clients, and the outbox of their events. */
export interface ClientStore {
  database: Database;
  outbox: Outbox;
}

const SUBJECT = "tidings.identity.client";

/** Publishes the change: other services decide by the role of a client which data it receives. */
function tell({ outbox }: ClientStore, transaction: Transaction, verb: string, row: Row): void {
  const { id, name, roleId } = clientOf(row);
  const aggregate = { id, version: Number(row.version) };
  const message = { id, name, ...(roleId !== undefined && { roleId }) };
  outbox.append(transaction, [domainEvent(`${SUBJECT}.${verb}`, aggregate, ClientSchema, message)]);
}

export function newRandomId(): string {
  return randomBytes(24).toString("base64url");
}

/** Creates a client from a draft that was checked. ALREADY_EXISTS when there is one of this random id. */
export async function createClient(
  store: ClientStore,
  draft: ClientDraft,
  author: Author,
  deadlineMs: number,
  randomId = newRandomId(),
): Promise<ClientWithSecret> {
  const { name, redirectUris, grants, isPublic, roleId } = draft;
  const issued = isPublic ? undefined : issueSecret();
  return store.database.transaction(deadlineMs, async (transaction) => {
    const values = [randomId, name, issued?.hash ?? null, redirectUris, grants, roleId ?? null, isPublic];
    const [row] = await transaction.query(insertStatement, values);
    if (!row) throw taken([]);
    tell(store, transaction, "saved", row);
    const client = clientOf(row);
    await audit(transaction, "create", client, author, { name, redirectUris, grants, isPublic, roleId });
    return { client, secret: issued?.secret };
  });
}

/** Which secret a client has at present, without a word about what it is. */
export function secretMarkOf({ secretHash = "" }: OAuthClient): string {
  return digest(secretHash).slice(0, 16);
}

const rotateStatement = prepared(
  "oauth_client_rotate",
  `update oauth_clients set secret_hash = $2,
     previous_secret_hash = case when $4::boolean then secret_hash end,
     previous_secret_until = case when $4::boolean then now() + interval '24 hours' end
   where id = $1 and secret_hash = $3 and not is_public returning id`,
);

/**
 * Gives a confidential client another secret. The one before is worth nothing from now on, or works for another 24 hours.
 * Undefined when somebody else has just done so: the client's secret is not the one that is meant.
 */
export async function rotateSecret(
  database: Database,
  client: OAuthClient,
  { keepsOld, author, deadlineMs }: { keepsOld: boolean; author: Author; deadlineMs: number },
): Promise<string | undefined> {
  const { secret, hash } = issueSecret();
  return database.transaction(deadlineMs, async (transaction) => {
    const [row] = await transaction.query(rotateStatement, [client.id, hash, client.secretHash, keepsOld]);
    if (!row) return undefined;
    await audit(transaction, "rotate_secret", client, author, { name: client.name, keepsOld });
    return secret;
  });
}

const updateStatement = prepared(
  "oauth_client_update",
  `update oauth_clients c set name = $2, redirect_uris = $3, version = version + 1 where c.id = $1
   returning ${CLIENT_COLUMNS}, c.version`,
);

/** Changes what a client is called and where its answers may go, as a draft that was checked says. */
export async function updateClient(
  store: ClientStore,
  client: OAuthClient,
  { name, redirectUris }: Pick<ClientDraft, "name" | "redirectUris">,
  author: Author,
  deadlineMs: number,
): Promise<void> {
  await store.database.transaction(deadlineMs, async (transaction) => {
    const [row] = await transaction.query(updateStatement, [client.id, name, redirectUris]);
    if (!row) throw notFound();
    tell(store, transaction, "saved", row);
    await audit(transaction, "update", client, author, { name, redirectUris });
  });
}

const deleteStatement = prepared(
  "oauth_client_delete",
  `delete from oauth_clients c where c.id = $1 returning ${CLIENT_COLUMNS}, c.version + 1 as version`,
);

/** Deletes a client with every grant, code and token it has. */
export async function deleteClient(
  store: ClientStore,
  client: OAuthClient,
  author: Author,
  deadlineMs: number,
): Promise<void> {
  await store.database.transaction(deadlineMs, async (transaction) => {
    const [row] = await transaction.query(deleteStatement, [client.id]);
    if (!row) return;
    tell(store, transaction, "deleted", row);
    await audit(transaction, "delete", client, author, { name: client.name });
  });
}

async function audit(
  transaction: Transaction,
  action: string,
  client: OAuthClient,
  { actor, clientIp }: Author,
  details: object,
): Promise<void> {
  const object = { objectType: "oauth_client", objectId: String(client.id) };
  await appendAudit(transaction, [{ action, actor, clientIp, ...object, details }]);
}
