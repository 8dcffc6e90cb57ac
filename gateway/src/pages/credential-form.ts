import type { Violation } from "@tidings/rpc/fault";
import { type Html, html, named } from "@tidings/runtime/html";
import { GRANT_TYPES, type GrantType } from "../oauth/client.ts";
import type { ClientDraft } from "../oauth/client-draft.ts";
import type { RoleName } from "../oauth/manage-clients.ts";
import { describedBy, notesOf, problemSummary } from "./field.ts";
import type { Form } from "./form.ts";

export const emptyDraft: ClientDraft = {
  name: "",
  redirectUris: [],
  grants: ["authorization_code", "refresh_token"],
  isPublic: false,
  roleId: undefined,
};

/** The draft that a filled-in form describes. */
export function draftOf(form: Form): ClientDraft {
  const role = form.text("role");
  return {
    ...namedDraftOf(form),
    grants: form.texts("grants").filter(isGrantType),
    isPublic: form.text("kind") === "public",
    roleId: /^[1-9]\d{0,8}$/.test(role) ? Number(role) : undefined,
  };
}

/** The part of it that can be changed later. */
export function namedDraftOf(form: Form): Pick<ClientDraft, "name" | "redirectUris"> {
  return {
    name: form.text("name").replaceAll(/\s+/g, " "),
    redirectUris: form.text("redirectUris").split(/\s+/).filter(Boolean),
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
  /** The signed id of the credential to be made: a form that is sent twice makes one credential. */
  future: { id: string; signature: string };
  notice?: Html | undefined;
}

const GRANT_LABELS: Record<GrantType, string> = {
  authorization_code: "Act for a user who signs in (authorization code)",
  refresh_token: "Stay connected without asking again (refresh token)",
  client_credentials: "Act on its own, without a user (client credentials; not for public apps)",
};

const LABELS = new Map([
  ["name", "Name"],
  ["grants", "What it may do"],
  ["redirectUris", "Redirect URIs"],
  ["role", "Role"],
]);

export function newCredentialContent(form: CredentialForm): Html {
  const { draft, violations, token, future, notice } = form;
  return html`<div class="sheet">
<h1>New credential</h1>
<p class="quiet">For an app that uses the API.</p>
${notice}
${problemSummary(violations, LABELS)}
<form method="post" action="/credentials/new">
<input type="hidden" name="csrf" value="${token}">
<input type="hidden" name="id" value="${future.id}"><input type="hidden" name="signature" value="${future.signature}">
${nameField(draft, violations)}
${kindField(draft)}
${grantsField(form)}
${redirectUrisField(draft, violations)}
<div class="actions"><button>Create</button> <a href="/credentials">Cancel</a></div>
</form></div>`;
}

export interface EditForm {
  path: string;
  title: string;
  draft: Pick<ClientDraft, "name" | "redirectUris">;
  violations: Violation[];
  token: string;
  notice?: Html | undefined;
}

/** The members that can change while every app stays connected: the id, secret and tokens stay. */
export function editCredentialContent({ path, title, draft, violations, token, notice }: EditForm): Html {
  return html`<div class="sheet">
<h1>Edit ${named(title)}</h1>
<p class="quiet">Its client ID and secret stay, and so do the people who let it in.</p>
${notice}
${problemSummary(violations, LABELS)}
<form method="post" action="${path}">
<input type="hidden" name="csrf" value="${token}">
${nameField(draft, violations)}
${redirectUrisField(draft, violations)}
<div class="actions"><button>Save</button> <a href="/credentials">Cancel</a></div>
</form></div>`;
}

function nameField({ name }: Pick<ClientDraft, "name">, violations: Violation[]): Html {
  const notes = { name: "name", violations, hint: "Shown to users when the app asks to be let in." };
  return html`<div class="field"><label for="name" class="required">Name</label>
<input id="name" name="name" type="text" value="${name}" maxlength="191" autocomplete="off" required ${describedBy(notes)}>
${notesOf(notes)}</div>`;
}

function redirectUrisField(
  { redirectUris }: Pick<ClientDraft, "redirectUris">,
  violations: Violation[],
): Html {
  const hint = "One on each line, exactly as the app sends it. Required to act for a user.";
  const notes = { name: "redirectUris", violations, hint };
  return html`<div class="field"><label for="redirectUris">Redirect URIs</label>
<textarea id="redirectUris" name="redirectUris" rows="3" spellcheck="false" autocomplete="off" ${describedBy(notes)}>
${redirectUris.join("\n")}</textarea>
${notesOf(notes)}</div>`;
}

function kindField({ isPublic }: ClientDraft): Html {
  return html`<fieldset class="field"><legend>Kind</legend>
${choice({ type: "radio", name: "kind", value: "confidential", label: "Confidential: runs on a server and keeps a secret", isChosen: !isPublic })}
${choice({ type: "radio", name: "kind", value: "public", label: "Public: runs in a browser or on a device, without a secret", isChosen: isPublic })}
</fieldset>`;
}

/** The role stands below the choice that it belongs to. */
function grantsField(form: CredentialForm): Html {
  const { draft, violations, mayActOnItsOwn } = form;
  const offered = GRANT_TYPES.filter((type) => type !== "client_credentials" || mayActOnItsOwn);
  const choices = offered.map((value) => {
    const isChosen = draft.grants.includes(value);
    return choice({ type: "checkbox", name: "grants", value, label: GRANT_LABELS[value], isChosen });
  });
  const notes = { name: "grants", violations };
  return html`<fieldset class="field" id="grants" tabindex="-1" ${describedBy(notes)}><legend class="required">What it may do</legend>
${choices}${notesOf(notes)}</fieldset>
${mayActOnItsOwn ? roleField(form) : undefined}`;
}

function roleField({ draft, roles, violations }: CredentialForm): Html {
  const options = roles.map(({ id, name }) =>
    id === draft.roleId
      ? html`<option value="${id}" selected>${name}</option>`
      : html`<option value="${id}">${name}</option>`,
  );
  const hint =
    "What the app may do when it acts on its own. Required then: without a role it can do nothing.";
  const notes = { name: "role", violations, hint };
  return html`<div class="field"><label for="role">Role</label>
<select id="role" name="role" ${describedBy(notes)}><option value="">None</option>${options}</select>
${notesOf(notes)}</div>`;
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
