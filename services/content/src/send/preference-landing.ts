import { backgroundDeadline, type Database, prepared } from "@tidings/database/database";
import { atBodyEnd, atBodyStart } from "@tidings/rendering/in-body";
import { type Html, html } from "@tidings/runtime/html";
import type { Log } from "@tidings/runtime/log";
import { offeredCategories } from "./category-choices.ts";
import type { LinkedSend } from "./mail-links.ts";
import {
  allEmails,
  type OfferedChoices,
  PREFERENCE_SLOTS,
  type PreferenceSlot,
  preferenceForm,
  problemAlert,
  unshownRules,
} from "./preference-parts.ts";
import { CHANNELS, channelsOf } from "./preferences.ts";

/** The landing page by which an email shows the preference centre; undefined where it names none that is there and open. */
export type PreferenceLanding = (send: LinkedSend, choices: OfferedChoices) => Promise<string | undefined>;

/** A landing page for the preferences of a contact, with the parts of their form; undefined for a page that is not open, or no such page. */
export type PreferencesInPage = (
  pageId: number,
  contactId: number,
  partOf: (token: string) => Html | undefined,
) => Promise<string | undefined>;

interface LandingOptions {
  database: Database;
  log: Log;
  preferencesInPage: PreferencesInPage;
}

/** No contact has this id. */
const NOBODY = 0;
const pageStatement = prepared(
  "emails_preference_page",
  "select preference_center_id as id from emails where id = $1",
);

/** Writes those pages. Each slot stands where it is first named; whatever the page leaves out follows at its end. */
export function preferenceLandings({ database, log, preferencesInPage }: LandingOptions): PreferenceLanding {
  return async ({ emailId, contactId }, choices) => {
    try {
      const [email] = await database.query(pageStatement, [emailId], backgroundDeadline());
      if (!email?.id) return undefined;
      const { shown, partOf } = slotsOf(choices);
      const document = await preferencesInPage(Number(email.id), contactId, partOf);
      return document === undefined ? undefined : withReaderControls(document, choices, shown);
    } catch (error) {
      // Readers can leave, whatever is wrong with the page of an author.
      log.error({ err: error, email: emailId }, "a preference page could not be shown");
      return undefined;
    }
  };
}

/** A preference page as its author sees it: with the topics that readers may choose, and a list by way of example. */
export async function preferencePreview(
  database: Database,
  write: (partOf: (token: string) => Html | undefined) => Promise<string>,
): Promise<string> {
  const topics = await offeredCategories(database, NOBODY, backgroundDeadline());
  const choices: OfferedChoices = {
    ...{ token: "preview", hasRefused: false },
    ...channelsOf({}, CHANNELS, ""),
    categories: topics.map(({ id, title }) => ({ id, name: title, isChosen: true })),
    segments: [{ id: 0, name: "A list", isChosen: false }],
  };
  const { shown, partOf } = slotsOf(choices);
  return withReaderControls(await write(partOf), choices, shown);
}

/** The parts of the form by their tokens, and the slots that were filled. An input that stands there twice would be sent twice. */
function slotsOf(choices: OfferedChoices) {
  const shown = new Set<PreferenceSlot>();
  const partOf = (token: string): Html | undefined => {
    const slot = token as PreferenceSlot;
    if (!Object.hasOwn(PREFERENCE_SLOTS, slot) || shown.has(slot)) return undefined;
    shown.add(slot);
    return PREFERENCE_SLOTS[slot](choices);
  };
  return { shown, partOf };
}

/** The page with the form that its inputs belong to, and the way to leave, which no page can do without. */
function withReaderControls(
  document: string,
  choices: OfferedChoices,
  shown: ReadonlySet<PreferenceSlot>,
): string {
  const save =
    shown.size > 0 && !shown.has("saveprefsbutton")
      ? html`<p>${PREFERENCE_SLOTS.saveprefsbutton()}</p>`
      : undefined;
  const form = shown.size > 0 ? preferenceForm(choices.token, unshownRules(choices, shown)) : undefined;
  const end = html`<section aria-label="All emails" style="padding:1rem">${save}${form}${allEmails(choices)}</section>`;
  return atBodyEnd(atBodyStart(document, problemAlert(choices)?.markup ?? ""), end.markup);
}
