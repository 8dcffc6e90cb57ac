import { Code, Fault } from "@tidings/rpc/fault";
import type { Request } from "express";
import { isSameDigest } from "../oauth/secret.ts";
import { readBody } from "../rest/body.ts";
import type { Query } from "../rest/query.ts";
import { isSameOrigin } from "../rest/same-origin.ts";
import type { Visit } from "./visit.ts";

export interface Form {
  /** Of a field, without the space around it; empty when it was not sent. */
  text(name: string): string;
  /** As it was typed: passwords. */
  verbatim(name: string): string;
  /** Of check boxes that share a name. */
  texts(name: string): string[];
}

/**
 * Reads a form that one of our pages has sent in this session. Throws PERMISSION_DENIED on all others: the token is bound
 * to the session and to the form, and the browser says where the form was.
 */
export async function readForm(
  request: Request,
  { visit, name, publicOrigin }: { visit: Visit; name: string; publicOrigin: string | undefined },
): Promise<Form> {
  if (!isSameOrigin(request, publicOrigin)) throw foreignForm();
  const fields = (await readBody(request, false)) as Query;
  const form = formOf(fields);
  if (!isSameDigest(form.verbatim("csrf"), visit.formToken(name))) throw foreignForm();
  return form;
}

function formOf(fields: Query): Form {
  const texts = (name: string) =>
    [Object.hasOwn(fields, name) ? fields[name] : []].flat().filter((value) => typeof value === "string");
  const verbatim = (name: string) => texts(name)[0] ?? "";
  return { texts, verbatim, text: (name) => verbatim(name).trim() };
}

function foreignForm(): Fault {
  const message = "This form was not sent from its page, or the page is too old. Please open it again.";
  return new Fault({ code: Code.PERMISSION_DENIED, reason: "FOREIGN_FORM", message });
}
