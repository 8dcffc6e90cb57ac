import type { GrantType, OAuthClient } from "../oauth/client.ts";
import type { ListedClient } from "../oauth/manage-clients.ts";
import { type Html, html } from "./html.ts";

export interface CredentialList {
  clients: ListedClient[];
  token: string;
  mayCreate: boolean;
  mayRotate(client: ListedClient): boolean;
  mayDelete: boolean;
}

const GRANT_NAMES: Record<GrantType, string> = {
  authorization_code: "authorization code",
  refresh_token: "refresh token",
  client_credentials: "client credentials",
};

export function credentialListContent(list: CredentialList): Html {
  const { clients, mayCreate } = list;
  const sheets =
    clients.length > 0
      ? clients.map((client) => credential(client, list))
      : html`<div class="sheet"><p>There are no API credentials yet. An app needs one to use the API.</p></div>`;
  return html`<div class="bar"><h1>API credentials</h1>
${mayCreate ? html`<a class="button" href="/credentials/new">New credential</a>` : undefined}</div>
${sheets}`;
}

function credential(client: ListedClient, { token, mayRotate, mayDelete }: CredentialList): Html {
  const { id, publicId, name, isPublic, grants, redirectUris, roleName, dateAdded, lastUsed } = client;
  return html`<section class="sheet" aria-labelledby="client-${id}">
<h2 id="client-${id}">${name}</h2>
<dl><dt>Client id</dt><dd><code>${publicId}</code></dd>
<dt>Kind</dt><dd>${isPublic ? "public" : "confidential"}</dd>
<dt>Grants</dt><dd>${grants.map((grant) => GRANT_NAMES[grant]).join(", ")}</dd>
${redirectUris.length > 0 ? html`<dt>Redirect URIs</dt><dd>${redirectUris.map((uri) => html`<code>${uri}</code><br>`)}</dd>` : undefined}
${grants.includes("client_credentials") ? html`<dt>Role</dt><dd>${roleName ?? "none"}</dd>` : undefined}
<dt>Created</dt><dd>${dateAdded} UTC</dd>
<dt>Last used</dt><dd>${lastUsed ? `${lastUsed} UTC` : "never"}</dd></dl>
<div class="actions">
${mayRotate(client) ? rotation(client, token) : undefined}
${mayDelete ? deletion(client, token) : undefined}
</div></section>`;
}

function rotation({ id, name }: ListedClient, token: string): Html {
  return html`<details><summary>New secret…</summary>
<p>The present secret of ${name} stops working at once.</p>
<form method="post" action="/credentials/${id}/secret"><input type="hidden" name="csrf" value="${token}">
<button class="danger">Make a new secret for ${name}</button></form></details>`;
}

function deletion({ id, name }: ListedClient, token: string): Html {
  return html`<details><summary>Delete…</summary>
<p>Every token of ${name} stops working, for all users.</p>
<form method="post" action="/credentials/${id}/delete"><input type="hidden" name="csrf" value="${token}">
<button class="danger">Delete ${name}</button></form></details>`;
}

export interface ShownSecret {
  client: OAuthClient;
  secret: string | undefined;
  title: string;
}

/** The only place where a secret is ever seen. */
export function secretContent({ client, secret, title }: ShownSecret): Html {
  return html`<div class="sheet"><h1>${title}</h1>
${secret ? html`<p class="note good" role="status">Copy the secret now. It is not kept, so it cannot be shown again.</p>` : undefined}
<p><strong>Client id</strong><br><code class="block">${client.publicId}</code></p>
${secret ? html`<p><strong>Client secret</strong><br><code class="block">${secret}</code></p>` : undefined}
<div class="actions"><a class="button" href="/credentials">Done</a></div></div>`;
}
