import type { Html } from "@tidings/runtime/html";
import { atOnce, inSteps } from "@tidings/runtime/long-work";
import { readTextReferences } from "./character-references.ts";
import { type DateSettings, formatFieldDate, formatToday } from "./format-date.ts";
import { htmlPlaces } from "./html-places.ts";
import { HEADER, PLAIN_TEXT, type Place, URL_PART } from "./place.ts";
import { scanTokens } from "./scan-tokens.ts";
import { TemplateError } from "./template-error.ts";
import type { ContactFieldToken, NamedToken, Token } from "./token.ts";

/** Kinds of texts whose tokens all stand in one kind of place. */
export type TextKind = "text" | "header" | "url";

export interface Template {
  /** The aliases of the contact fields that the template reads. */
  contactFields: string[];
  /** Dates or times stand in it: the time zone of its reader matters. */
  hasDates: boolean;
  /** The tokens whose values the caller looks up, each once. */
  tokens: NamedToken[];
  /** The text with the values of one contact. Throws TemplateError when it is longer than `lengthMax`. */
  render(values: TemplateValues): string;
}

export interface TemplateValues {
  /** Values of contact fields by alias. */
  contactFields: ReadonlyMap<string, string>;
  /** The text of a field that has neither a value nor a default: none when absent. */
  placeholderOf?: ((alias: string) => string) | undefined;
  /** The value of another token: a text, HTML, or undefined for none. HTML is left out where only text may stand. */
  valueOf(token: NamedToken): string | Html | undefined;
  dates: DateSettings;
  /** The greatest length of the rendered text, in UTF-16 code units. */
  lengthMax: number;
}

const TEMPLATE_LENGTH_MAX = 4_000_000;

const PLACES = { text: PLAIN_TEXT, header: HEADER, url: URL_PART };

/**
 * Compiles a template with tokens (engines.md 6.7): `{contactfield=alias|default}`, `{today|format|+2 days}`, and
 * `{name=argument}` for each of `names`. Braces that hold no token stay as they are. Each value is written so that it
 * stays text where its token stands: percent-encoded in URLs, on one line in headers. Values are not read for tokens. Throws
 * TemplateError for a text that is too large.
 */
export function compileTemplate(text: string, kind: TextKind, names: ReadonlySet<string>): Template {
  checkLength(text);
  const { fixed, tokens } = atOnce(scanTokens(text, names, (body) => body));
  const place = PLACES[kind];
  return templateOf(
    fixed,
    tokens,
    tokens.map(() => place),
  );
}

/**
 * The same of HTML: each value is written so that it stays text where its token stands, and is left out where it could run as code. A long
 * text is compiled in parts, between which others have the event loop.
 */
export async function compileHtml(text: string, names: ReadonlySet<string>): Promise<Template> {
  checkLength(text);
  // Editors of HTML write a default such as "Tom & Ann" with character references.
  const { fixed, tokens } = await inSteps(scanTokens(text, names, readTextReferences));
  return templateOf(fixed, tokens, await htmlPlaces(fixed));
}

function checkLength(text: string): void {
  if (text.length > TEMPLATE_LENGTH_MAX)
    throw new TemplateError(`At most ${TEMPLATE_LENGTH_MAX} characters are supported.`);
}

function templateOf(fixed: string[], tokens: Token[], places: Place[]): Template {
  return {
    contactFields: contactFieldsOf(tokens),
    hasDates: tokens.some(isDate),
    tokens: namedTokensOf(tokens),
    render(values) {
      let rendered = fixed[0] ?? "";
      for (const [index, token] of tokens.entries()) {
        const place = places[index];
        if (place) rendered += written(token, place, values);
        rendered += fixed[index + 1] ?? "";
        if (rendered.length > values.lengthMax) break;
      }
      if (rendered.length <= values.lengthMax) return rendered;
      throw new TemplateError(`The rendered text is longer than ${values.lengthMax} characters.`);
    },
  };
}

function written(token: Token, place: Place, values: TemplateValues): string {
  switch (token.kind) {
    case "contact field":
      return place.write(fieldValue(token, place, values));
    case "today":
      return place.write(formatToday(token, values.dates));
    case "named": {
      const value = values.valueOf({ name: token.name, argument: token.argument });
      if (value === undefined) return place.write("");
      if (typeof value === "string") return place.write(value);
      return place.takesMarkup ? value.markup : place.write("");
    }
  }
}

function fieldValue(
  { alias, fallback, treatment }: ContactFieldToken,
  place: Place,
  { contactFields, placeholderOf, dates }: TemplateValues,
): string {
  const value = contactFields.get(alias) || fallback || (placeholderOf?.(alias) ?? "");
  if (treatment === "none" || value === "") return value;
  if (treatment !== "percent-encode") return formatFieldDate(value, treatment, dates);
  return place.isPercentEncoded ? value : URL_PART.write(value);
}

function isDate(token: Token): boolean {
  if (token.kind === "contact field")
    return token.treatment !== "none" && token.treatment !== "percent-encode";
  return token.kind === "today";
}

function contactFieldsOf(tokens: Token[]): string[] {
  return [...new Set(tokens.flatMap((token) => (token.kind === "contact field" ? [token.alias] : [])))];
}

function namedTokensOf(tokens: Token[]): NamedToken[] {
  const named = tokens.flatMap((token) =>
    token.kind === "named" ? [{ name: token.name, argument: token.argument }] : [],
  );
  return [...new Map(named.map((token) => [JSON.stringify([token.name, token.argument]), token])).values()];
}
