import { type Html, html, named } from "@tidings/runtime/html";
import { CHANNELS, type Channel, type Choices, UNITS } from "./preferences.ts";
import { buttonForm, readerPage } from "./unsubscribe-page.ts";

/** A segment or category that a contact may choose. */
export interface Offer {
  id: number;
  name: string;
  isChosen: boolean;
}

export interface PreferencePage {
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

const NAMES: Record<Channel, string> = { email: "Emails", sms: "Text messages" };
const UNIT_NAMES: Record<string, string> = { DAY: "a day", WEEK: "a week", MONTH: "a month" };
const NONE: ReadonlyMap<string, string> = new Map();

/** The form of a preference centre. It works without script. */
export function preferencePage(page: PreferencePage): string {
  const { token, segments, categories, preferred, hasRefused, problems = NONE } = page;
  const channels = CHANNELS.filter((channel) => page.channels[channel]);
  const alert =
    problems.size > 0
      ? html`<p class="problem" role="alert">Nothing was changed yet. Please look at what is marked.</p>`
      : undefined;
  const all = hasRefused
    ? html`<p>You get no emails from us at the moment.</p>${buttonForm({ label: "Subscribe again", path: `/email/resubscribe/${token}` })}`
    : html`<p>Or get no more emails of any kind from us.</p>${buttonForm({ label: "Unsubscribe from everything", path: `/email/dnc/${token}` })}`;
  return readerPage(
    "Your preferences",
    html`${alert}<form method="post" action="/email/preferences/${token}" novalidate>
${channels.map((channel) => channelFields(channel, page, problems))}
${channels.length > 1 ? preferredFields(channels, preferred) : undefined}
${offers("category", "Topics", categories)}
${offers("segment", "Lists", segments)}
<p><button type="submit">Save</button></p></form>
<h2>All emails</h2>${all}`,
  );
}

function channelFields(
  channel: Channel,
  { channels }: PreferencePage,
  problems: ReadonlyMap<string, string>,
): Html {
  const { number = "", unit = "", pauseFrom = "", pauseTo = "" } = channels[channel] ?? {};
  const marks = (id: string) =>
    problems.has(id) ? html` aria-invalid="true" aria-describedby="${id}_problem"` : undefined;
  const problemOf = (id: string) =>
    problems.has(id) ? html` <span class="problem" id="${id}_problem">${problems.get(id)}</span>` : undefined;
  const input = (name: string, label: string, attributes: Html, value: string) => {
    const id = `${channel}_${name}`;
    return html`<p><label for="${id}">${label}</label> <input id="${id}" name="${id}" value="${value}"${attributes}${marks(id)}>${problemOf(id)}</p>`;
  };
  const unitId = `${channel}_unit`;
  const day = html` type="date" min="1000-01-01" max="9999-12-31"`;
  const options = UNITS.map(
    (one) =>
      html`<option value="${one}"${one === unit ? html` selected` : undefined}>${UNIT_NAMES[one]}</option>`,
  );
  return html`<fieldset><legend>${NAMES[channel]}</legend>
${input("number", "At most", html` type="number" min="1" max="1000" inputmode="numeric"`, number)}
<p><label for="${unitId}">in</label> <select id="${unitId}" name="${unitId}"${marks(unitId)}>${options}</select>${problemOf(unitId)}</p>
${input("pause_from", "None from", day, pauseFrom)}
${input("pause_to", "until", day, pauseTo)}</fieldset>`;
}

function preferredFields(channels: Channel[], preferred: Channel | ""): Html {
  const choice = (value: Channel | "", label: string) =>
    html`<div><label><input type="radio" name="preferred" value="${value}"${value === preferred ? html` checked` : undefined}> ${label}</label></div>`;
  return html`<fieldset><legend>Preferred way</legend>${choice("", "No preference")}${channels.map(
    (channel) => choice(channel, NAMES[channel]),
  )}</fieldset>`;
}

/** Boxes that are not ticked are not sent: the ids that were shown are. */
function offers(name: "category" | "segment", legend: string, offered: Offer[]): Html | undefined {
  if (offered.length === 0) return undefined;
  const boxes = offered.map(
    ({ id, name: title, isChosen }) =>
      html`<div><input type="hidden" name="${name}_shown" value="${id}"><label><input type="checkbox" name="${name}" value="${id}"${
        isChosen ? html` checked` : undefined
      }> ${named(title)}</label></div>`,
  );
  return html`<fieldset><legend>${legend}</legend>${boxes}</fieldset>`;
}
