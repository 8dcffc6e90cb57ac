import { compileTemplate, type TemplateValues } from "@tidings/rendering/compile-template";
import type { Fault } from "@tidings/rpc/fault";
import type { FormRouteOptions } from "./form-options.ts";
import type { SubmissionAnswer } from "./submit.ts";

/** The answer to a visitor: a message or an address to go on to, or the errors. */
export type FormAnswer =
  | { isTaken: true; message: string; redirect?: string; results: ReadonlyMap<string, string> }
  | { isTaken: false; errors: ReadonlyMap<string, string>; message: string };

const NAMES = new Set(["formfield", "pagelink"]);
const MESSAGE_LENGTH_MAX = 200_000;
const USUAL = "Thank you!";

/** The answer to a submission that was taken, with what was filled in (engines.md 5.7). */
export async function takenAnswer(
  { form, results, contact }: Pick<SubmissionAnswer, "form" | "results" | "contact">,
  { pageAddresses, settings: { publicUrl } }: Pick<FormRouteOptions, "pageAddresses" | "settings">,
): Promise<FormAnswer> {
  const { postAction, postActionProperty: property = "" } = form;
  const isRedirect = postAction === "redirect";
  const template = compileTemplate(property, isRedirect ? "url" : "html", NAMES);
  const links = new Map<string, string>();
  for (const { name, argument } of template.tokens)
    if (name === "pagelink") links.set(argument ?? "", (await pageAddresses.find(argument)) ?? publicUrl);
  // An address that is a page of ours alone is that page's; as a value it would be encoded.
  const [, pageId = ""] = isRedirect ? (/^\{pagelink=(\d{1,10})\}$/.exec(property) ?? []) : [];
  if (pageId) return { isTaken: true, message: "", redirect: links.get(pageId) ?? publicUrl, results };
  const values: TemplateValues = {
    contactFields: contact,
    valueOf: ({ name, argument = "" }) => (name === "pagelink" ? links.get(argument) : results.get(argument)),
    dates: { now: Date.now(), timeZone: "UTC", locale: form.language || "en" },
    lengthMax: MESSAGE_LENGTH_MAX,
  };
  const text = template.render(values);
  return isRedirect
    ? { isTaken: true, message: "", redirect: text, results }
    : { isTaken: true, message: text || USUAL, results };
}

/** The answer to a submission that was not taken. */
export function refusedAnswer({ violations, message }: Fault): FormAnswer {
  const errors = new Map(violations.map(({ field, message }) => [field, message]));
  return { isTaken: false, errors, message };
}

/** The answer as scripts read it. */
export function answerJson(answer: FormAnswer, formName: string): object {
  if (answer.isTaken) {
    const { message, redirect, results } = answer;
    const shown = redirect === undefined ? { successMessage: message } : { redirect };
    return { success: 1, results: Object.fromEntries(results), ...shown, formName };
  }
  const { errors, message } = answer;
  const wrong =
    errors.size > 0 ? { validationErrors: Object.fromEntries(errors) } : { errorMessage: message };
  return { success: 0, ...wrong, formName };
}
