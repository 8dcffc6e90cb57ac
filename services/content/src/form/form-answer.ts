import { compileHtml, compileTemplate, type TemplateValues } from "@tidings/rendering/compile-template";
import type { Fault } from "@tidings/rpc/fault";
import type { RepostAnswer } from "./action-outcome.ts";
import type { FormRouteOptions } from "./form-options.ts";
import { offeredDownload } from "./offered-download.ts";
import type { SubmissionAnswer } from "./submit.ts";

/** The answer to a visitor: a message or an address to go on to, or the errors. */
export type FormAnswer =
  | {
      isTaken: true;
      message: string;
      redirect?: string;
      download?: string;
      results: ReadonlyMap<string, string>;
    }
  | { isTaken: false; errors: ReadonlyMap<string, string>; message: string };

const NAMES = new Set(["formfield", "pagelink"]);
const MESSAGE_LENGTH_MAX = 200_000;
const USUAL = "Thank you!";

/** The answer to a submission that was taken, with what was filled in and what the form offers for download (engines.md 5.7). */
export async function takenAnswer(
  { form, results, contact }: Pick<SubmissionAnswer, "form" | "results" | "contact">,
  {
    submitting,
    pageAddresses,
    settings,
  }: Pick<FormRouteOptions, "submitting" | "pageAddresses" | "settings">,
): Promise<Extract<FormAnswer, { isTaken: true }>> {
  const { publicUrl } = settings;
  const { postAction, postActionProperty: property = "" } = form;
  const isRedirect = postAction === "redirect";
  const template = isRedirect ? compileTemplate(property, "url", NAMES) : await compileHtml(property, NAMES);
  const links = new Map<string, string>();
  for (const { name, argument } of template.tokens)
    if (name === "pagelink") links.set(argument ?? "", (await pageAddresses.find(argument)) ?? publicUrl);
  const offered = await offeredDownload(form, { database: submitting.database, publicUrl });
  const withDownload = (said: { message: string; redirect?: string }) =>
    offered
      ? {
          isTaken: true as const,
          ...said,
          message: `${said.message}${offered.markup}`,
          download: offered.url,
          results,
        }
      : { isTaken: true as const, ...said, results };
  // An address that is a page of ours alone is that page's; as a value it would be encoded.
  const [, pageId = ""] = isRedirect ? (/^\{pagelink=(\d{1,10})\}$/.exec(property) ?? []) : [];
  if (pageId) return withDownload({ message: "", redirect: links.get(pageId) ?? publicUrl });
  const values: TemplateValues = {
    contactFields: contact,
    valueOf: ({ name, argument = "" }) => (name === "pagelink" ? links.get(argument) : results.get(argument)),
    dates: { now: Date.now(), timeZone: "UTC", locale: form.language || "en" },
    lengthMax: MESSAGE_LENGTH_MAX,
  };
  const text = template.render(values);
  return withDownload(isRedirect ? { message: "", redirect: text } : { message: text || USUAL });
}

/** The answer to a submission that was not taken. */
export function refusedAnswer({ violations, message }: Fault): FormAnswer {
  const errors = new Map(violations.map(({ field, message }) => [field, message]));
  return { isTaken: false, errors, message };
}

/** The answer with what another form says to the submission. */
export function withRepost(answer: FormAnswer, elsewhere: RepostAnswer | undefined): FormAnswer {
  if (!elsewhere) return answer;
  const { redirect, errors = {}, message = "" } = elsewhere;
  if (redirect === undefined) return { isTaken: false, errors: new Map(Object.entries(errors)), message };
  return answer.isTaken ? { ...answer, redirect } : answer;
}

/** The answer as scripts read it. */
export function answerJson(answer: FormAnswer, formName: string): object {
  if (answer.isTaken) {
    const { message, redirect, download, results } = answer;
    const shown = {
      ...(redirect === undefined ? { successMessage: message } : { redirect }),
      ...(download !== undefined && { download }),
    };
    return { success: 1, results: Object.fromEntries(results), ...shown, formName };
  }
  const { errors, message } = answer;
  const wrong =
    errors.size > 0 ? { validationErrors: Object.fromEntries(errors) } : { errorMessage: message };
  return { success: 0, ...wrong, formName };
}
