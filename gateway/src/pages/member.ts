import { Verb } from "@tidings/proto/tidings/api/v1/options";
import type { Request, Response } from "express";
import { isPage, MAIL_PATH, sendToSignIn } from "./next.ts";
import type { Menu } from "./page.ts";
import { mayManageClients } from "./permission.ts";
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
  // The values of a form are gone after the sign-in: its page is shown again, or the list that the form was in.
  const isRead = request.method === "GET" || request.method === "HEAD";
  if (isRead) sendToSignIn(response, request.originalUrl);
  else
    sendToSignIn(response, isPage(request.path) ? request.path : `/${request.path.split("/")[1]}`, "ended");
  return undefined;
}

/** The menu over a page; `path` is the entry that the page belongs to. It offers what the user may open. */
export function menuOf({ visit, user }: Member, path: string): Menu {
  const places = PLACES.filter((place) => {
    if (place.path === MAIL_PATH) return user.admin;
    return place.path !== "/credentials" || mayManageClients(user, Verb.VIEW);
  });
  return { user, path, places, signOutToken: visit.formToken("sign-out") };
}

const PLACES = [
  { path: "/credentials", label: "API credentials" },
  { path: "/authorisations", label: "Authorised apps" },
  { path: MAIL_PATH, label: "Mails" },
  { path: "/password", label: "Password" },
];
