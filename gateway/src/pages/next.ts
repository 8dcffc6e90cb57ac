import { Fault } from "@tidings/rpc/fault";
import type { Database } from "@tidings/store/database";
import type { Response } from "express";
import { findTarget } from "../oauth/authorization-request.ts";
import { formActionOf } from "../oauth/redirect-uri.ts";
import { queryOf } from "../rest/query.ts";
import { sendOn } from "./page.ts";

export const SIGN_IN_PATH = "/oauth/v2/authorize_login";
export const START_PATH = "/authorisations";

/** Where a sign-in may lead: pages of ours and nothing else. */
const NEXT =
  /^\/(?:oauth\/v2\/authorize\?|(?:credentials(?:\/new|\/\d+\/edit)?|authorisations|password)(?:\?|$))[\x21-\x5b\x5d-\x7e]*$/;

export function nextOf(next: unknown): string {
  return typeof next === "string" && NEXT.test(next) ? next : START_PATH;
}

/** Sends a visitor to the sign-in, and to `next` afterwards. */
export function sendToSignIn(response: Response, next: string): void {
  sendOn(response, `${SIGN_IN_PATH}?next=${encodeURIComponent(next)}`);
}

/** Where a sign-in that leads on to `next` may end: an app may be let in without another click. */
export async function formActionOfNext(database: Database, next: string): Promise<string | undefined> {
  if (!next.startsWith("/oauth/")) return undefined;
  try {
    return formActionOf((await findTarget(database, queryOf(next))).redirectUri);
  } catch (error) {
    if (error instanceof Fault) return undefined; // told on the page that follows
    throw error;
  }
}
