import type { Request, Response } from "express";
import { type Form, readForm } from "./form.ts";
import { type Member, openMember } from "./member.ts";
import { withNotice } from "./notice.ts";
import { sendOn } from "./page.ts";
import type { PagesOptions } from "./pages-options.ts";

/** A form of the page `back` and who sent it; undefined when that is answered: to sign in, or to look at the page again. */
export async function openForm(
  request: Request,
  response: Response,
  options: PagesOptions,
  { name, back }: { name: string; back: string },
): Promise<(Member & { form: Form }) | undefined> {
  const member = await openMember(request, response, options);
  if (!member) return undefined;
  const form = await readForm(request, { visit: member.visit, name, apiOrigin: options.apiOrigin });
  if (!form.isStale) return { ...member, form };
  sendOn(response, withNotice(back, "stale"));
  return undefined;
}
