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

/** What `form-action` has to allow, so that a form may end in a redirect to the URI. */
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
