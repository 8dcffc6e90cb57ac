import { randomBytes } from "node:crypto";
import { ClientSchema } from "@tidings/proto/tidings/identity/v1/client";
import { type Database, prepared, type Row, type Transaction } from "@tidings/store/database";
import { domainEvent, type Outbox } from "@tidings/store/outbox";
import { appendAudit } from "../identity/audit.ts";
import { CLIENT_COLUMNS, clientOf, issueSecret, type OAuthClient } from "./client.ts";
import type { ClientDraft } from "./client-draft.ts";

/** Who changes a client; nobody in particular at the command line. */
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

const LIST_MAX = 500;
const MINUTES = "'YYYY-MM-DD HH24:MI'";
const SELECT = `select ${CLIENT_COLUMNS}, r.name as role_name,
    to_char(c.date_added at time zone 'UTC', ${MINUTES}) as date_added,
    to_char(c.last_used_at at time zone 'UTC', ${MINUTES}) as last_used
  from oauth_clients c left join roles r on r.id = c.role_id`;

const listStatement = prepared(
  "oauth_clients_list",
  `${SELECT} order by lower(c.name), c.id limit ${LIST_MAX}`,
);
const getStatement = prepared("oauth_client_get", `${SELECT} where c.id = $1`);

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
     values ($1, $2, $3, $4, $5, $6, $7) returning *)
   select ${CLIENT_COLUMNS}, c.version from c`,
);

/** Where clients are kept, and who is told of them. */
export interface ClientStore {
  database: Database;
  outbox: Outbox;
}

const SUBJECT = "tidings.identity.client";

/** Others decide by the role of a client what it may be told of. */
function tell({ outbox }: ClientStore, transaction: Transaction, verb: string, row: Row): void {
  const { id, name, roleId } = clientOf(row);
  const aggregate = { id, version: Number(row.version) };
  const message = { id, name, ...(roleId !== undefined && { roleId }) };
  outbox.append(transaction, [domainEvent(`${SUBJECT}.${verb}`, aggregate, ClientSchema, message)]);
}

/** Creates a client from a draft that was checked. */
export async function createClient(
  store: ClientStore,
  draft: ClientDraft,
  author: Author,
  deadlineMs: number,
): Promise<ClientWithSecret> {
  const { name, redirectUris, grants, isPublic, roleId } = draft;
  const issued = isPublic ? undefined : issueSecret();
  const randomId = randomBytes(24).toString("base64url");
  return store.database.transaction(deadlineMs, async (transaction) => {
    const values = [randomId, name, issued?.hash ?? null, redirectUris, grants, roleId ?? null, isPublic];
    const [row] = await transaction.query(insertStatement, values);
    if (!row) throw new Error("the client was not stored");
    tell(store, transaction, "saved", row);
    const client = clientOf(row);
    await audit(transaction, "create", client, author, { name, redirectUris, grants, isPublic, roleId });
    return { client, secret: issued?.secret };
  });
}

const rotateStatement = prepared(
  "oauth_client_rotate",
  "update oauth_clients set secret_hash = $2 where id = $1 and not is_public",
);

/** Gives a confidential client another secret; the one before is worth nothing from now on. */
export async function rotateSecret(
  database: Database,
  client: OAuthClient,
  author: Author,
  deadlineMs: number,
): Promise<string> {
  const { secret, hash } = issueSecret();
  await database.transaction(deadlineMs, async (transaction) => {
    transaction.execute(rotateStatement, [client.id, hash]);
    await audit(transaction, "rotate_secret", client, author, { name: client.name });
  });
  return secret;
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
