import { type Html, html, named } from "@tidings/runtime/html";
import type { GrantType, OAuthClient } from "../oauth/client.ts";
import type { ListedClient } from "../oauth/manage-clients.ts";
import type { Page } from "./page.ts";

export interface CredentialList {
  clients: ListedClient[];
  /** There are more than are shown. */
  isCut: boolean;
  token: string;
  notice: Html | undefined;
  mayCreate: boolean;
  mayEdit(client: ListedClient): boolean;
  mayDelete: boolean;
  /** Names the present secret of a client without telling it. */
  secretMark(client: ListedClient): string;
}

const GRANT_NAMES: Record<GrantType, string> = {
  authorization_code: "authorization code",
  refresh_token: "refresh token",
  client_credentials: "client credentials",
};

export function credentialListContent(list: CredentialList): Html {
  const { clients, mayCreate, notice, isCut } = list;
  const cards =
    clients.length > 0
      ? html`<ul class="cards">${clients.map((client) => credential(client, list))}</ul>`
      : html`<div class="sheet"><p>There are no API credentials yet. An app needs one to use the API.</p></div>`;
  return html`<div class="bar"><h1>API credentials</h1>
${mayCreate ? html`<a class="button" href="/credentials/new">New credential</a>` : undefined}</div>
${notice}
${cards}
${isCut ? html`<p class="quiet">There are more: only the first ${clients.length} by name are shown.</p>` : undefined}`;
}

function credential(client: ListedClient, list: CredentialList): Html {
  const { publicId, name, isPublic, grants, redirectUris, roleName, dateAdded, lastUsed } = client;
  return html`<li class="sheet"><h2>${named(name)}</h2>
<p class="quiet">${isPublic ? "Public" : "Confidential"}, last used: ${lastUsed ? `${lastUsed} UTC` : "never"}</p>
<div class="actions"><details><summary>Details<span class="hidden"> of ${named(name)}</span></summary>
<dl><dt>Client ID</dt><dd><code>${publicId}</code></dd>
<dt>Grants</dt><dd>${grants.map((grant) => GRANT_NAMES[grant]).join(", ")}</dd>
${redirectUris.length > 0 ? html`<dt>Redirect URIs</dt><dd>${redirectUris.map((uri) => html`<code>${uri}</code><br>`)}</dd>` : undefined}
${grants.includes("client_credentials") ? html`<dt>Role</dt><dd>${roleName ?? "none"}</dd>` : undefined}
<dt>Created</dt><dd>${dateAdded} UTC</dd></dl></details>
${changes(client, list)}</div></li>`;
}

function changes(client: ListedClient, { mayEdit, mayDelete, token, secretMark }: CredentialList): Html {
  const { id, name, isPublic } = client;
  const hiddenName = html`<span class="hidden"> of ${named(name)}</span>`;
  return html`
${mayEdit(client) ? html`<a href="/credentials/${id}/edit">Edit<span class="hidden"> ${named(name)}</span></a>` : undefined}
${mayEdit(client) && !isPublic ? rotation(client, token, secretMark(client), hiddenName) : undefined}
${mayDelete ? deletion(client, token, hiddenName) : undefined}`;
}

function rotation({ id, name }: ListedClient, token: string, mark: string, hiddenName: Html): Html {
  return html`<details name="actions-${id}"><summary>New secret…${hiddenName}</summary>
<form method="post" action="/credentials/${id}/secret"><input type="hidden" name="csrf" value="${token}">
<input type="hidden" name="present" value="${mark}">
<label class="choice"><input type="radio" name="overlap" value="day" checked> The current secret works for another 24 hours</label>
<label class="choice"><input type="radio" name="overlap" value="none"> The current secret stops working at once; ${named(name)} cannot connect until it has the new one</label>
<button class="plain">Make a new secret for ${named(name)}</button></form></details>`;
}

function deletion({ id, name }: ListedClient, token: string, hiddenName: Html): Html {
  return html`<details name="actions-${id}"><summary class="danger">Delete…${hiddenName}</summary>
<p>Every token of ${named(name)} stops working, for all users.</p>
<form method="post" action="/credentials/${id}/delete"><input type="hidden" name="csrf" value="${token}">
<button class="danger">Delete ${named(name)}</button></form></details>`;
}

export interface ShownSecret {
  client: OAuthClient;
  secret: string | undefined;
  title: Html;
  /** Where this Tidings is, as the browser sees it. */
  origin: string;
}

/** The only place where a secret is ever seen. */
export function secretContent({ client, secret, title, origin }: ShownSecret): Html {
  const now = html`<p class="note now" role="status" tabindex="-1" autofocus>Copy the secret now. It is not kept, so it cannot be shown again.</p>`;
  return html`<div class="sheet"><h1>${title}</h1>
${secret ? now : undefined}
<p><strong>Client ID</strong><br><code class="block">${client.publicId}</code></p>
${secret ? html`<p><strong>Client secret</strong><br><code class="block">${secret}</code></p>` : undefined}
${nextSteps(client, origin)}
<div class="actions"><a class="button" href="/credentials">Done</a></div></div>`;
}

function nextSteps({ publicId, grants }: OAuthClient, origin: string): Html {
  const isOnItsOwn = grants.includes("client_credentials");
  return html`<dl>
${grants.includes("authorization_code") ? html`<dt>Authorization</dt><dd><code>${origin}/oauth/v2/authorize</code></dd>` : undefined}
<dt>Tokens</dt><dd><code>${origin}/oauth/v2/token</code></dd></dl>
${isOnItsOwn ? html`<p>Its first token:</p><code class="block">curl ${origin}/oauth/v2/token -d grant_type=client_credentials -d client_id=${publicId} -d client_secret=…</code><p></p>` : undefined}`;
}

/** For a form that came a second time: after a reload, or from a restored tab. */
export function doneAlready(text: string): Page {
  const title = "This was done already";
  const content = html`<div class="sheet"><h1>${title}</h1><p>${text}</p>
<p><a href="/credentials">Go to API credentials</a></p></div>`;
  return { title, content, status: 409 };
}
