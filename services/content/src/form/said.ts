import type { CameBy } from "./came-by.ts";
import type { Said } from "./submission-task.ts";
import type { Submitted } from "./submitted.ts";

/** The alias of a form's field that asks for consent, and the values by which it is refused. */
const CONSENT_ALIAS = "consent";
const REFUSALS = new Set(["0", "no", "false"]);

/** Reads a submission for its contact. A field for consent that is left blank answers nothing. */
export function saidIn(
  { contact, company, results }: Submitted,
  { referer = "", cameBy }: { referer?: string | undefined; cameBy?: CameBy | undefined },
): Said {
  const text = [...results].find(([{ alias }]) => alias === CONSENT_ALIAS)?.[1];
  return {
    values: Object.fromEntries(contact),
    companyValues: Object.fromEntries(company),
    consent: text ? { given: !REFUSALS.has(text.toLowerCase()), where: referer } : undefined,
    cameBy,
  };
}
