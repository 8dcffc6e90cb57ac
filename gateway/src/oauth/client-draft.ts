import type { Violation } from "@tidings/rpc/fault";
import { folded } from "@tidings/runtime/folded";
import type { GrantType } from "./client.ts";
import { isRedirectUri } from "./client.ts";

/** A client as somebody wants it. */
export interface ClientDraft {
  name: string;
  redirectUris: string[];
  grants: GrantType[];
  isPublic: boolean;
  roleId: number | undefined;
}

const NAME_MAX = 191;
const REDIRECT_URIS_MAX = 20;

/** Signs that nobody sees, and those that turn the text around them (Unicode 16, categories Cc, Cf, Zl and Zp). */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;
/** No app may be taken for the service itself. */
const OWN_NAME = "tidings";

/** The violations of a draft; none when the client may be created. */
export function checkClient(draft: ClientDraft): Violation[] {
  return [...checkName(draft), ...checkGrants(draft), ...checkRedirectUris(draft)];
}

function checkName({ name }: ClientDraft): Violation[] {
  const refused = (message: string) => [{ field: "name", message }];
  if (name === "") return refused("A name is required.");
  if (name.length > NAME_MAX) return refused(`A name may have ${NAME_MAX} characters.`);
  if (UNSEEN.test(name)) return refused("The name holds characters that cannot be seen.");
  return folded(name) === OWN_NAME ? refused("An app cannot be called Tidings.") : [];
}

function checkGrants({ grants, isPublic, roleId }: ClientDraft): Violation[] {
  const violations: Violation[] = [];
  const refuse = (field: string, message: string) => violations.push({ field, message });
  const isOnItsOwn = grants.includes("client_credentials");
  if (grants.length === 0) refuse("grants", "Choose at least one.");
  if (grants.includes("refresh_token") && !grants.includes("authorization_code"))
    refuse("grants", "“Stay connected” needs “Act for a user” as well.");
  if (isPublic && isOnItsOwn) refuse("grants", "A public client has no secret, so it cannot act on its own.");
  if (isOnItsOwn && roleId === undefined)
    refuse("role", "Choose a role: without one the app can do nothing on its own.");
  if (!isOnItsOwn && roleId !== undefined) refuse("role", "A role is only for an app that acts on its own.");
  return violations;
}

const URI_SHOWN_MAX = 200;

function checkRedirectUris({ redirectUris, grants }: ClientDraft): Violation[] {
  const refused = (message: string) => [{ field: "redirectUris", message }];
  if (redirectUris.length > REDIRECT_URIS_MAX)
    return refused(`There may be ${REDIRECT_URIS_MAX} redirect URIs.`);
  const wrong = redirectUris.filter((uri) => !isRedirectUri(uri)).map((uri) => uri.slice(0, URI_SHOWN_MAX));
  if (wrong.length > 0)
    return refused(
      `${wrong.join(" and ")} cannot be used. Allowed: https://..., http://localhost..., or an app's own scheme like com.example.app:/... without # or *.`,
    );
  if (redirectUris.length > 0 || !grants.includes("authorization_code")) return [];
  return refused("Enter at least one redirect URI, such as https://app.example/callback.");
}
