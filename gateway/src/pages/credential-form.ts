import type { Violation } from "@tidings/rpc/fault";
import { GRANT_TYPES, type GrantType } from "../oauth/client.ts";
import type { ClientDraft } from "../oauth/client-draft.ts";
import type { RoleName } from "../oauth/roles.ts";
import type { Form } from "./form.ts";
import { type Html, html } from "./html.ts";

export const emptyDraft: ClientDraft = {
  name: "",
  redirectUris: [],
  grants: ["authorization_code", "refresh_token"],
  isPublic: false,
  roleId: undefined,
};

/** What was filled in. */
export function draftOf(form: Form): ClientDraft {
  const grants = form.texts("grants").filter(isGrantType);
  const roleId = /^[1-9]\d{0,8}$/.test(form.text("role")) ? Number(form.text("role")) : undefined;
  return {
    name: form.text("name"),
    redirectUris: form.text("redirectUris").split(/\s+/).filter(Boolean),
    grants,
    isPublic: form.text("kind") === "public",
    // A role is of use only to an app that acts on its own.
    roleId: grants.includes("client_credentials") ? roleId : undefined,
  };
}

function isGrantType(text: string): text is GrantType {
  return GRANT_TYPES.some((type) => type === text);
}

export interface CredentialForm {
  draft: ClientDraft;
  violations: Violation[];
  roles: RoleName[];
  token: string;
  /** Only an administrator may create an app with rights of its own. */
  mayActOnItsOwn: boolean;
}

const GRANT_LABELS: Record<GrantType, string> = {
  authorization_code: "Act for a user who signs in (authorization code)",
  refresh_token: "Stay connected without asking again (refresh token)",
  client_credentials: "Act on its own, without a user (client credentials)",
};

export function newCredentialContent(form: CredentialForm): Html {
  const { draft, violations, token } = form;
  return html`<div class="sheet">
<h1>New API credential</h1>
<p class="quiet">For an app that is to use the API of this Tidings.</p>
${violations.length > 0 ? html`<p class="note bad" role="alert">Please correct what is marked below.</p>` : undefined}
<form method="post" action="/credentials/new">
<input type="hidden" name="csrf" value="${token}">
<div class="field"><label for="name">Name</label>
<input id="name" name="name" type="text" value="${draft.name}" maxlength="191" required ${stateOf("name", violations)}>
${problemOf("name", violations)}<p class="hint">Shown to users when the app asks to be let in.</p></div>
${kindField(draft)}
${grantsField(form)}
<div class="field"><label for="redirectUris">Redirect URIs</label>
<textarea id="redirectUris" name="redirectUris" rows="3" spellcheck="false"
 ${stateOf("redirectUris", violations)}>${draft.redirectUris.join("\n")}</textarea>
${problemOf("redirectUris", violations)}<p class="hint">One on each line, exactly as the app sends it. Needed to act for a user.</p></div>
${form.mayActOnItsOwn ? roleField(form) : undefined}
<div class="actions"><button>Create</button> <a href="/credentials">Cancel</a></div>
</form></div>`;
}

function kindField({ isPublic }: ClientDraft): Html {
  return html`<fieldset class="field"><legend>Kind</legend>
${choice({ type: "radio", name: "kind", value: "confidential", label: "Confidential: runs on a server and keeps a secret", isChosen: !isPublic })}
${choice({ type: "radio", name: "kind", value: "public", label: "Public: runs in a browser or on a device, without a secret", isChosen: isPublic })}
</fieldset>`;
}

function grantsField({ draft, violations, mayActOnItsOwn }: CredentialForm): Html {
  const offered = GRANT_TYPES.filter((type) => type !== "client_credentials" || mayActOnItsOwn);
  const choices = offered.map((value) => {
    const isChosen = draft.grants.includes(value);
    return choice({ type: "checkbox", name: "grants", value, label: GRANT_LABELS[value], isChosen });
  });
  return html`<fieldset class="field"><legend>What it may do</legend>${choices}
${problemOf("grants", violations)}</fieldset>`;
}

function roleField({ draft, roles, violations }: CredentialForm): Html {
  const options = roles.map(({ id, name }) =>
    id === draft.roleId
      ? html`<option value="${id}" selected>${name}</option>`
      : html`<option value="${id}">${name}</option>`,
  );
  return html`<div class="field"><label for="role">Role</label>
<select id="role" name="role" aria-describedby="role-hint"><option value="">None</option>${options}</select>
${problemOf("role", violations)}<p class="hint" id="role-hint">What the app may do when it acts on its own. Without a role it may do nothing.</p></div>`;
}

interface Choice {
  type: "radio" | "checkbox";
  name: string;
  value: string;
  label: string;
  isChosen: boolean;
}

function choice({ type, name, value, label, isChosen }: Choice): Html {
  const checked = isChosen ? html`checked` : undefined;
  return html`<label class="choice"><input type="${type}" name="${name}" value="${value}" ${checked}> ${label}</label>`;
}

function stateOf(field: string, violations: Violation[]): Html | undefined {
  if (!violations.some((violation) => violation.field === field)) return undefined;
  return html`aria-invalid="true" aria-describedby="${field}-problem"`;
}

function problemOf(field: string, violations: Violation[]): Html | undefined {
  const texts = violations.filter((violation) => violation.field === field).map(({ message }) => message);
  return texts.length > 0 ? html`<p class="problem" id="${field}-problem">${texts.join(" ")}</p>` : undefined;
}
