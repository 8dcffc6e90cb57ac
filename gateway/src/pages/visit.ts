import { createHmac } from "node:crypto";
import type { Database } from "@tidings/database/database";
import type { Actor } from "@tidings/rpc/actor";
import type { Request, Response } from "express";
import type { ClientIp } from "../client-ip.ts";
import type { Principals } from "../identity/principals.ts";
import { findSession } from "./session.ts";
import type { SessionCookie } from "./session-cookie.ts";

export interface VisitOptions {
  database: Database;
  principals: Principals;
  cookie: SessionCookie;
  clientIp: ClientIp;
}

/** A request by a browser, with what is known of who sits before it. */
export interface Visit {
  sessionId: string;
  clientIp: string;
  /** Undefined before the sign-in. */
  user: SignedIn | undefined;
  /** Goes into a form of this name and comes back with it; of use in this session only. */
  formToken(form: string): string;
}

export interface SignedIn extends Actor {
  id: number;
}

const LOOKUP_MS = 5_000;

/** A visitor without a session gets an id that nothing is stored for; it binds the sign-in form to this browser. */
export async function openVisit(request: Request, response: Response, options: VisitOptions): Promise<Visit> {
  const { database, principals, cookie } = options;
  const sent = cookie.read(request);
  const userId = sent === undefined ? undefined : await findSession(database, sent);
  const user = userId === undefined ? undefined : await principals.user(userId, Date.now() + LOOKUP_MS);
  const sessionId = sent ?? cookie.renew(response);
  return {
    sessionId,
    clientIp: options.clientIp(request),
    user: user && userId !== undefined ? { ...user, id: userId } : undefined,
    formToken: (form) => createHmac("sha256", sessionId).update(form).digest("base64url"),
  };
}
