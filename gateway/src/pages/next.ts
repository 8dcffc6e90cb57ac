import type { Database } from "@tidings/database/database";
import { Fault } from "@tidings/rpc/fault";
import type { Response } from "express";
import { findTarget } from "../oauth/authorization-request.ts";
import { formActionOf } from "../oauth/client.ts";
import { queryOf } from "../rest/query.ts";
import { sendOn } from "./page.ts";

export const SIGN_IN_PATH = "/oauth/v2/authorize_login";
export const START_PATH = "/authorisations";
export const MAIL_PATH = "/mail";

/** Where a sign-in may lead: pages of ours and nothing else. */
const NEXT =
  /^\/(?:oauth\/v2\/authorize\?|(?:credentials(?:\/new|\/\d+\/edit)?|authorisations|password|mail(?:\/[\w.@+%-]+)?)(?:\?|$))[\x21-\x5b\x5d-\x7e]*$/;

export function nextOf(next: unknown): string {
  return typeof next === "string" && isPage(next) ? next : START_PATH;
}

/** Does this address show something to a signed-in user? */
export function isPage(address: string): boolean {
  return NEXT.test(address);
}

/** Sends a visitor to the sign-in, and to `next` afterwards. `why` is said there. */
export function sendToSignIn(response: Response, next: string, why?: "ended"): void {
  sendOn(response, `${SIGN_IN_PATH}?next=${encodeURIComponent(next)}${why ? `&why=${why}` : ""}`);
}

/** The app that a sign-in leads on to, and where that may end: it may be let in without another click. */
export async function appOfNext(
  database: Database,
  next: string,
): Promise<{ name: string; formAction: string } | undefined> {
  if (!next.startsWith("/oauth/")) return undefined;
  try {
    const { client, redirectUri } = await findTarget(database, queryOf(next));
    return { name: client.name, formAction: formActionOf(redirectUri) };
  } catch (error) {
    if (error instanceof Fault) return undefined; // the page that follows shows it
    throw error;
  }
}
