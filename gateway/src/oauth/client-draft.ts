import type { Violation } from "@tidings/rpc/fault";
import type { GrantType } from "./client.ts";
import { isRedirectUri } from "./redirect-uri.ts";

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

/** What is wrong with a draft; nothing when it may be created. */
export function checkClient({ name, redirectUris, grants, isPublic }: ClientDraft): Violation[] {
  const violations: Violation[] = [];
  const refuse = (field: string, message: string) => violations.push({ field, message });
  const wrongUri = redirectUris.find((uri) => !isRedirectUri(uri));
  if (name === "") refuse("name", "A name is required.");
  if (name.length > NAME_MAX) refuse("name", `A name may have ${NAME_MAX} characters.`);
  if (grants.length === 0) refuse("grants", "At least one grant is required.");
  if (grants.includes("refresh_token") && !grants.includes("authorization_code"))
    refuse("grants", "Refresh tokens come with authorization codes only.");
  if (isPublic && grants.includes("client_credentials"))
    refuse("grants", "A public client has no secret, so it cannot act on its own.");
  if (wrongUri !== undefined)
    refuse(
      "redirectUris",
      `${wrongUri} is not a redirect URI: https, http on localhost, or a scheme of an app's own; no fragment, no wildcard.`,
    );
  else if (redirectUris.length > REDIRECT_URIS_MAX)
    refuse("redirectUris", `There may be ${REDIRECT_URIS_MAX} redirect URIs.`);
  else if (redirectUris.length === 0 && grants.includes("authorization_code"))
    refuse("redirectUris", "A valid URL is required.");
  return violations;
}
