import { Code, Fault } from "@tidings/rpc/fault";
import type { Request } from "express";
import { readBody, SMALL } from "../rest/body.ts";
import type { Query } from "../rest/query.ts";
import { isSameOrigin } from "../rest/same-origin.ts";
import { isSameDigest } from "../secret.ts";
import type { Visit } from "./visit.ts";

export interface Form {
  /** The value of a field, without the space around it; empty when it was not sent. */
  text(name: string): string;
  /** As it was typed: passwords. */
  verbatim(name: string): string;
  /** The values of check boxes that share a name. */
  texts(name: string): string[];
  /** It was opened in another session: its sender sees it again, and nothing is done. */
  isStale: boolean;
}

/**
 * Reads a form that one of our pages has sent: the browser says where it was, and its token is bound to the session and to
 * the form. Throws PERMISSION_DENIED on those of other sites.
 */
export async function readForm(
  request: Request,
  { visit, name, apiOrigin }: { visit: Visit; name: string; apiOrigin: string | undefined },
): Promise<Form> {
  if (!isSameOrigin(request, apiOrigin)) throw foreignForm();
  const fields = (await readBody(request, SMALL)) as Query;
  const texts = (field: string) =>
    [Object.hasOwn(fields, field) ? fields[field] : []].flat().filter((value) => typeof value === "string");
  const verbatim = (field: string) => texts(field)[0] ?? "";
  const isStale = !isSameDigest(verbatim("csrf"), visit.formToken(name));
  return { texts, verbatim, text: (field) => verbatim(field).trim(), isStale };
}

function foreignForm(): Fault {
  const message = "This form was sent from another site, and other sites may not change anything here.";
  return new Fault({ code: Code.PERMISSION_DENIED, reason: "FOREIGN_FORM", message });
}
