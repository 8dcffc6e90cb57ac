import type { Request, Response } from "express";
import { sendToSignIn } from "./next.ts";
import type { Menu } from "./page.ts";
import { openVisit, type SignedIn, type Visit, type VisitOptions } from "./visit.ts";

export interface Member {
  visit: Visit;
  user: SignedIn;
}

/** A visit of somebody who is signed in; undefined when the visitor was sent to sign in instead. */
export async function openMember(
  request: Request,
  response: Response,
  options: VisitOptions,
): Promise<Member | undefined> {
  const visit = await openVisit(request, response, options);
  if (visit.user) return { visit, user: visit.user };
  // What a form held is gone: afterwards its page is shown again.
  const isRead = request.method === "GET" || request.method === "HEAD";
  sendToSignIn(response, isRead ? request.originalUrl : `/${request.originalUrl.split("/")[1]}`);
  return undefined;
}

/** The menu over a page; `path` is the entry that the page belongs to. */
export function menuOf({ visit, user }: Member, path: string): Menu {
  return { user, path, signOutToken: visit.formToken("sign-out") };
}
