import { html } from "@tidings/runtime/html";
import {
  allEmails,
  type OfferedChoices,
  PREFERENCE_SLOTS,
  preferenceForm,
  problemAlert,
} from "./preference-parts.ts";
import { readerPage } from "./unsubscribe-page.ts";

/** The preference centre of emails that name no page of their own. It works without script. */
export function preferencePage(choices: OfferedChoices): string {
  const { saveprefsbutton, ...fields } = PREFERENCE_SLOTS;
  const form = html`
${Object.values(fields).map((part) => part(choices))}
<p>${saveprefsbutton()}</p>`;
  return readerPage(
    "Your preferences",
    html`${problemAlert(choices)}${preferenceForm(choices.token, form)}
<h2>All emails</h2>${allEmails(choices)}`,
  );
}
