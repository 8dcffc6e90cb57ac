import { type Html, html, named } from "@tidings/runtime/html";
import { CHANNELS, type Channel, type Choices, UNITS } from "./preferences.ts";
import { buttonForm } from "./unsubscribe-page.ts";

/** A segment or category that a contact may choose. */
export interface Offer {
  id: number;
  name: string;
  isChosen: boolean;
}

/** All that a preference centre shows of one contact. */
export interface OfferedChoices {
  token: string;
  channels: Choices["channels"];
  preferred: Channel | "";
  segments: Offer[];
  categories: Offer[];
  /** The contact gets no emails at all. */
  hasRefused: boolean;
  /** Sentences about wrong values, by the names of inputs. */
  problems?: ReadonlyMap<string, string>;
}

/** Inputs name their form: on a landing page they stand anywhere, also in the midst of other elements. */
const FORM_ID = "reader-preferences";
const OF_FORM = html` form="${FORM_ID}"`;
const NAMES: Record<Channel, string> = { email: "Emails", sms: "Text messages" };
const UNIT_NAMES: Record<string, string> = { DAY: "a day", WEEK: "a week", MONTH: "a month" };
const NONE: ReadonlyMap<string, string> = new Map();
/** Pages of authors have styles of their own. Whatever these are, nothing is wider than the page. */
const FIELDSET = html`<fieldset style="min-width:0;overflow-wrap:anywhere">`;
const NARROW = html` style="max-width:100%;box-sizing:border-box"`;

/** The parts of the form of a preference centre, by the tokens of a landing page that they stand for (engines.md 7.4). */
export const PREFERENCE_SLOTS = {
  channelfrequency: (choices: OfferedChoices): Html =>
    html`${channelsIn(choices).map((channel) => channelFields(channel, choices))}`,
  preferredchannel: preferredFields,
  categorylist: ({ categories }: OfferedChoices): Html => offers("category", "Topics", categories),
  segmentlist: ({ segments }: OfferedChoices): Html => offers("segment", "Lists", segments),
  saveprefsbutton: (): Html => html`<button type="submit"${OF_FORM}>Save</button>`,
} as const;

export type PreferenceSlot = keyof typeof PREFERENCE_SLOTS;

/** The form that all inputs belong to, with what it has inside. */
export function preferenceForm(token: string, content?: Html): Html {
  return html`<form id="${FORM_ID}" method="post" action="/email/preferences/${token}" novalidate>${content}</form>`;
}

/** The sentence above a form with wrong values. */
export function problemAlert({ problems = NONE }: OfferedChoices): Html | undefined {
  return problems.size > 0
    ? html`<p class="problem" role="alert">Nothing was changed yet. Please look at what is marked.</p>`
    : undefined;
}

/** The button that ends all emails, or begins them again. */
export function allEmails({ token, hasRefused }: OfferedChoices): Html {
  return hasRefused
    ? html`<p>You get no emails from us at the moment.</p>${buttonForm({ label: "Subscribe again", path: `/email/resubscribe/${token}` })}`
    : html`<p>Or stop getting emails of any kind from us.</p>${buttonForm({ label: "Unsubscribe from everything", path: `/email/dnc/${token}` })}`;
}

/** Rules are saved whole. So the values that a page has no inputs for stay as they are. */
export function unshownRules(choices: OfferedChoices, shown: ReadonlySet<PreferenceSlot>): Html {
  const { channels, preferred } = choices;
  const [hasFrequency, hasPreferred] = [shown.has("channelfrequency"), shown.has("preferredchannel")];
  if (hasFrequency === hasPreferred) return html``;
  if (hasFrequency) return hidden("preferred", preferred);
  return html`${channelsIn(choices).flatMap((channel) => {
    const { number = "", unit = "", pauseFrom = "", pauseTo = "" } = channels[channel] ?? {};
    return Object.entries({ number, unit, pause_from: pauseFrom, pause_to: pauseTo }).map(([name, value]) =>
      hidden(`${channel}_${name}`, value),
    );
  })}`;
}

function hidden(name: string, value: string | number): Html {
  return html`<input type="hidden" name="${name}" value="${value}"${OF_FORM}>`;
}

function channelsIn({ channels }: OfferedChoices): Channel[] {
  return CHANNELS.filter((channel) => channels[channel]);
}

function channelFields(channel: Channel, { channels, problems = NONE }: OfferedChoices): Html {
  const { number = "", unit = "", pauseFrom = "", pauseTo = "" } = channels[channel] ?? {};
  const marks = (id: string) =>
    problems.has(id) ? html` aria-invalid="true" aria-describedby="${id}_problem"` : undefined;
  const problemOf = (id: string) =>
    problems.has(id) ? html` <span class="problem" id="${id}_problem">${problems.get(id)}</span>` : undefined;
  const input = (name: string, label: string, attributes: Html, value: string) => {
    const id = `${channel}_${name}`;
    return html`<p><label for="${id}">${label}</label> <input id="${id}" name="${id}" value="${value}"${attributes}${OF_FORM}${NARROW}${marks(id)}>${problemOf(id)}</p>`;
  };
  const unitId = `${channel}_unit`;
  const day = html` type="date" min="1000-01-01" max="9999-12-31"`;
  const options = UNITS.map(
    (one) =>
      html`<option value="${one}"${one === unit ? html` selected` : undefined}>${UNIT_NAMES[one]}</option>`,
  );
  return html`${FIELDSET}<legend>${NAMES[channel]}</legend>
${input("number", "At most", html` type="number" min="1" max="1000" inputmode="numeric"`, number)}
<p><label for="${unitId}">in</label> <select id="${unitId}" name="${unitId}"${OF_FORM}${NARROW}${marks(unitId)}>${options}</select>${problemOf(unitId)}</p>
${input("pause_from", "None from", day, pauseFrom)}
${input("pause_to", "until", day, pauseTo)}</fieldset>`;
}

/** Where there is one channel there is nothing to prefer. */
function preferredFields(choices: OfferedChoices): Html {
  const { preferred } = choices;
  const channels = channelsIn(choices);
  if (channels.length < 2) return hidden("preferred", preferred);
  const choice = (value: Channel | "", label: string) =>
    html`<div><label><input type="radio"${OF_FORM} name="preferred" value="${value}"${value === preferred ? html` checked` : undefined}> ${label}</label></div>`;
  return html`${FIELDSET}<legend>Preferred way</legend>${choice("", "No preference")}${channels.map(
    (channel) => choice(channel, NAMES[channel]),
  )}</fieldset>`;
}

/** Boxes that are not ticked are not sent: the ids that were shown are. */
function offers(name: "category" | "segment", legend: string, offered: Offer[]): Html {
  if (offered.length === 0) return html``;
  const boxes = offered.map(
    ({ id, name: title, isChosen }) =>
      html`<div>${hidden(`${name}_shown`, id)}<label><input type="checkbox"${OF_FORM} name="${name}" value="${id}"${
        isChosen ? html` checked` : undefined
      }> ${named(title)}</label></div>`,
  );
  return html`${FIELDSET}<legend>${legend}</legend>${boxes}</fieldset>`;
}
