import { randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";

const ID = /^[A-Za-z0-9_-]{43}$/;

/**
 * The cookie that holds the session id; under https with the prefix that no other host can set. Cookies know no ports: over
 * http each copy on a host has a name of its own.
 */
export interface SessionCookie {
  /** The id that was sent, if it can be one of ours. */
  read(request: IncomingMessage): string | undefined;
  /** Gives the browser a new id. */
  renew(response: ServerResponse): string;
}

export function sessionCookie(isSecure: boolean, port: number): SessionCookie {
  const name = isSecure ? "__Host-sid" : `tidings-sid-${port}`;
  const attributes = `Path=/; HttpOnly; SameSite=Lax${isSecure ? "; Secure" : ""}`;
  return {
    read(request) {
      const cookies = (request.headers.cookie ?? "").split(";").map((cookie) => cookie.trim());
      const sent = cookies.filter((cookie) => cookie.startsWith(`${name}=`));
      const id = sent[0]?.slice(name.length + 1) ?? "";
      // Two of the name were not both set by us.
      return sent.length === 1 && ID.test(id) ? id : undefined;
    },
    renew(response) {
      const id = randomBytes(32).toString("base64url");
      response.setHeader("set-cookie", `${name}=${id}; ${attributes}`);
      return id;
    },
  };
}
