/** A server of mails, and the account at it. */
export interface MailServer {
  host: string;
  port: number;
  /** `implicit`: TLS from the first octet; `required`: STARTTLS, or nothing goes over the line; `off`: everybody on the way can read it. */
  tls: "implicit" | "required" | "off";
  /** Empty where nobody has to sign in. */
  user: string;
  password: string;
}

interface Scheme {
  /** The port where the URL names none. */
  port: number;
  /** TLS begins with the first octet. */
  isImplicit: boolean;
}

/** A name or an address (RFC 5321, 2.3.5), or an address of IPv6 in brackets. */
const HOST = /^(?:[\w.-]+|\[[\da-f:.]+\])$/i;

/**
 * Reads `//user:password@host:port?tls=off`. Without `tls=off` nothing goes over a line that is not encrypted. The problem with a URL names
 * nothing of it: a password may stand in it.
 */
export function readServerUrl(url: URL, { port, isImplicit }: Scheme): MailServer | { problem: string } {
  const unknown = [...url.searchParams.keys()].find((name) => name !== "tls");
  if (unknown !== undefined) return { problem: "has a parameter that is not tls" };
  const tls = url.searchParams.get("tls");
  if (tls !== null && (tls !== "off" || isImplicit))
    return { problem: "has a parameter tls that is not off" };
  if (!url.hostname) return { problem: "names no host" };
  if (!HOST.test(url.hostname)) return { problem: "names a host that is none" };
  const user = decoded(url.username);
  const password = decoded(url.password);
  if (user === undefined || password === undefined)
    return { problem: "has a user or password that is not percent-encoded" };
  if ((user === "") !== (password === "")) return { problem: "has a user or a password alone" };
  return {
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port: Number(url.port) || port,
    tls: isImplicit ? "implicit" : tls === "off" ? "off" : "required",
    ...{ user, password },
  };
}

/** The text that a part of a URL stands for; undefined for a lone percent sign. */
export function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined; // a lone percent sign
  }
}
