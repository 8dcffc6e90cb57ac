import type { FocusItem } from "@tidings/proto/tidings/content/v1/focus_item";
import { isObject, type JsonObject } from "@tidings/resource/json-member";
import { propertiesOf } from "@tidings/resource/properties";
import { textOf } from "@tidings/runtime/plain-text";
import { browserScript } from "../browser-folder.ts";
import { utmParameters } from "../family/utm-tags.ts";
import { isWebAddress } from "../family/web-address.ts";
import { browserSettings } from "../visit/script.ts";
import type { VisitSettings } from "../visit/visit-settings.ts";

/** The part that all items have in common. */
const readScript = browserScript("focus.js");

/** Milliseconds until it is shown to somebody again; null for never. */
const PAUSES = new Map<unknown, number | null>([
  ["everypage", 0],
  ["once", null],
  ["q2min", 120_000],
  ["q15min", 900_000],
  ["hourly", 3_600_000],
  ["daily", 86_400_000],
]);
/** The part of the page that has to be scrolled by. */
const SCROLLED = new Map<unknown, number>([
  ["scroll_slight", 0.1],
  ["scroll_middle", 0.5],
  ["scroll_bottom", 0.9],
]);
const STYLES = new Set(["bar", "modal", "notification", "page"]);
const PLACEMENT = /^[a-z_]{1,20}$/;
const COLOR = /^#?([0-9a-f]{3}|[0-9a-f]{6})$/i;
const DELAY_SECONDS_MAX = 3_600;

/**
 * The JavaScript that shows an item on a page that includes it, and reports views and clicks to the public web. The item is in the text.
 * `form` is the HTML of the form it has. What an author wrote as HTML stays HTML, all else is text.
 */
export async function focusScript(
  item: FocusItem,
  form: string | undefined,
  settings: VisitSettings,
): Promise<string> {
  const properties = propertiesOf(item);
  const content = objectIn(properties, "content");
  const style = STYLES.has(item.style) ? item.style : "notification";
  const { placement } = objectIn(properties, style);
  const link = textIn(content, "link_url");
  const shown = {
    id: item.id,
    name: item.name,
    style,
    placement: typeof placement === "string" && PLACEMENT.test(placement) ? placement : "top",
    colors: colorsOf(objectIn(properties, "colors")),
    headline: textIn(content, "headline"),
    tagline: textIn(content, "tagline"),
    link:
      item.type === "link" && isWebAddress(link)
        ? { url: link, text: textIn(content, "link_text") || link }
        : null,
    utm: utmParameters(item.utmTags),
    isNewWindow: isOn(content.link_new_window),
    html: htmlOf(item),
    form: item.type === "form" ? (form ?? null) : null,
    pauseMs: PAUSES.has(properties.frequency) ? PAUSES.get(properties.frequency) : 0,
    scrolled: SCROLLED.get(properties.when) ?? null,
    isOnLeaving: properties.when === "leave",
    delayMs: 1_000 * Math.min(DELAY_SECONDS_MAX, Math.max(0, Number(textOf(properties.timeout)) || 0)),
  };
  const script = await readScript();
  return `((ITEM, SETTINGS) => {${script}})(${literal(shown)}, ${browserSettings(settings)});\n`;
}

/** The HTML that its author wrote in one piece, in place of headline and tagline. */
function htmlOf({ htmlMode, html, editor }: FocusItem): string | null {
  if (htmlMode === "html") return html ?? "";
  return htmlMode === "editor" ? (editor ?? "") : null;
}

function colorsOf(colors: JsonObject) {
  const color = (name: string, usual: string) => {
    const [, digits] = COLOR.exec(textOf(colors[name]) ?? "") ?? [];
    return digits ? `#${digits}` : usual;
  };
  return {
    primary: color("primary", "#27184e"),
    text: color("text", "#ffffff"),
    button: color("button", "#fdb933"),
    buttonText: color("button_text", "#27184e"),
  };
}

function objectIn(properties: JsonObject, name: string): JsonObject {
  const value = properties[name];
  return isObject(value) ? value : {};
}

function textIn(properties: JsonObject, name: string): string {
  const value = properties[name];
  return typeof value === "string" ? value : "";
}

function isOn(value: unknown): boolean {
  return value === true || value === 1 || value === "1";
}

/** A literal of JavaScript that also stands in a script element, of a page in any encoding: nothing in it ends that. */
function literal(value: unknown): string {
  return JSON.stringify(value).replaceAll(
    /[<\u0080-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
