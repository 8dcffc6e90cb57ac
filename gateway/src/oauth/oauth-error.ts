import { Code, Fault } from "@tidings/rpc/fault";

/** Error codes of RFC 6749 (4.1.2.1, 5.2), and one of our own for a redirect URI that is another one. */
export type OAuthErrorType =
  | "invalid_request"
  | "invalid_client"
  | "invalid_grant"
  | "invalid_scope"
  | "unauthorized_client"
  | "unsupported_response_type"
  | "access_denied"
  | "redirect_uri_mismatch";

/** A refusal that OAuth has a word for. */
export class OAuthError extends Fault {
  readonly type: OAuthErrorType;

  constructor(type: OAuthErrorType, description: string, code = Code.INVALID_ARGUMENT) {
    super({ code, reason: "OAUTH_REFUSED", message: description });
    this.type = type;
  }
}
