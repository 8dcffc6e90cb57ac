import { folded } from "@tidings/runtime/folded";
import type { Request, Response } from "express";
import { readParameters } from "../visit/parameters.ts";
import { callOf, type FormRouteOptions, openForm } from "./form-options.ts";

const LENGTH_MIN = 3;
const LENGTH_MAX = 191;

/**
 * `{search, formId}` answers `[{companyname}]`: ten companies at most whose names begin so, for a form that asks for a company (engines.md
 * 5.1). Everything else is one and the same 400.
 */
export async function companyLookup(
  options: FormRouteOptions,
  request: Request,
  response: Response,
): Promise<void> {
  const parameters = await readParameters(request);
  const search = folded(parameters.get("search") ?? "");
  const form = await openForm(options, parameters.get("formId") ?? "").catch(() => undefined); // answered like a form without the field
  const isAsked = form?.fields.some(({ type }) => type === "companyLookup");
  if (!isAsked || search.length < LENGTH_MIN || search.length > LENGTH_MAX)
    return void response.status(400).json({ success: 0, errorMessage: "There is nothing to look up." });
  const names = await options.submitting.submitters.companiesBeginning(search, callOf());
  response.json(names.map((companyname) => ({ companyname })));
}
