import assert from "node:assert/strict";
import type { Client } from "./client.ts";
import { make } from "./people.ts";

/** Pages, emails, forms and slots, as large as they may be and of the shapes that cost most to show. */
export interface DearContent {
  name: string;
  /** Makes it and answers the paths by which visitors see it: none where it is refused. */
  make(api: Client): Promise<string[]>;
}

const LENGTH = 900_000;
/** The tokens that a text may have. */
const TOKENS = 4_900;
const CHOICES = 400;

/** A text again and again, up to a length. */
export function filled(text: string, length = LENGTH): string {
  return text.repeat(Math.floor(length / text.length));
}

export function numbered<T>(count: number, of: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => of(index));
}

const TOKEN = "{contactfield=firstname}";

/** HTML that takes long to read. A token in it makes that necessary. */
const HTMLS: Record<string, string> = {
  tokens: filled(TOKEN),
  dates: filled("{today|datetime}"),
  "tokens with references": filled("{contactfield=a|&amp;&eacute;}"),
  braces: filled("{"),
  "pairs of braces": filled("{}"),
  elements: TOKEN + filled("<b></b>"),
  "nested elements": TOKEN + filled("<div>"),
  "formatting that is begun again": `${TOKEN}${numbered(5_000, (index) => `<b a${index}>`).join("")}${"<p>".repeat(50_000)}`,
  "misnested tags": TOKEN + filled("<a><p>"),
  "nested tables": TOKEN + filled("<table><td>"),
  links: TOKEN + numbered(20_000, (index) => `<a href="https://a.example/${index}">a</a>`).join(""),
  "attributes of a link": `${TOKEN}<a ${numbered(100_000, (index) => `a${index}`).join(" ")}>`,
  "tokens in attributes": numbered(
    TOKENS,
    (index) => `<a href="${TOKEN}${index}" title="${TOKEN}">x</a>`,
  ).join(""),
  "tokens in a list of addresses": `<img srcset="${filled(`${TOKEN} 1x,`)}">`,
  comments: TOKEN + filled("<!--"),
  references: TOKEN + filled("&amp;"),
  scripts: TOKEN + filled("<script>a</script>"),
  "tokens in tag names": `${filled("<{contactfield=a}script>", 100_000)}${filled("<p>text", 600_000)}`,
  text: TOKEN + filled("word "),
  "one form many times": "{form=1}".repeat(TOKENS),
  assets: numbered(TOKENS, (index) => `{assetlink=${index + 1}}`).join(""),
  slots: numbered(TOKENS, (index) => `{dwc=s${index}}`).join(""),
  "links to pages": numbered(TOKENS, (index) => `{pagelink=${index + 1}}`).join(""),
};

async function idOf(api: Client, path: string, one: string, body: object): Promise<number | undefined> {
  const answer = await api("POST", `${path}/new`, body);
  assert.ok(answer.status < 500, answer.text);
  const made = (answer.body as unknown as Record<string, { id: number } | undefined>)[one];
  return made?.id;
}

const page = (name: string, customHtml: string, alias: string): DearContent => ({
  name: `a page of ${name}`,
  async make(api) {
    const id = await idOf(api, "pages", "page", { title: name, alias, isPublished: true, customHtml });
    return id === undefined ? [] : [`/${alias}`];
  },
});

const email = (name: string, members: object): DearContent => ({
  name: `an email of ${name}`,
  async make(api) {
    const body = { name, subject: "Dear", publicPreview: true, ...members };
    const id = await idOf(api, "emails", "email", body);
    return id === undefined ? [] : [`/email/preview/${id}`];
  },
});

const form = (name: string, fields: object[]): DearContent => ({
  name: `a form of ${name}`,
  async make(api) {
    const { id } = await make(api, "forms", "form", {
      ...{ name, alias: "dear", isPublished: true, postAction: "message", postActionProperty: "Thanks" },
      fields,
    });
    return [`/form/${id}`, `/form/generate.js?id=${id}`, `/form/embed/${id}`];
  },
});

const field = (index: number, members: object = {}) => ({
  ...{ label: `Field ${index}`, alias: `f${index}`, type: "text" },
  ...members,
});
const choices = numbered(CHOICES, (index) => ({ label: `Choice ${index}`, value: `${index}` }));
const NOBODYS_PATTERN = { glue: "and", field: "firstname", object: "lead", type: "text", operator: "regexp" };

export const DEAR_CONTENTS: DearContent[] = [
  ...Object.entries(HTMLS).flatMap(([name, customHtml], index) => [
    page(name, customHtml, `dear-${index}`),
    email(name, { customHtml }),
  ]),
  email("dynamic contents", {
    customHtml: numbered(2_000, (index) => `{dynamiccontent="d${index}"}`).join(""),
    dynamicContent: numbered(2_000, (index) => ({
      tokenName: `d${index}`,
      content: `<b>${TOKEN}</b>`,
      filters: [],
    })),
  }),
  email("filters", {
    customHtml: numbered(50, (index) => `{dynamiccontent="d${index}"}`).join(""),
    dynamicContent: numbered(50, (index) => ({
      tokenName: `d${index}`,
      content: "usual",
      filters: numbered(80, () => ({
        content: TOKEN,
        filters: [{ ...NOBODYS_PATTERN, filter: "(a?a?){20}b", properties: { filter: "(a?a?){20}b" } }],
      })),
    })),
  }),
  form(
    "fields",
    numbered(500, (index) => field(index)),
  ),
  form(
    "choices",
    numbered(10, (index) => field(index, { type: "select", properties: { list: { list: choices } } })),
  ),
  {
    name: "a focus item",
    async make(api) {
      const members = { name: "Dear", type: "notice", style: "bar", isPublished: true, htmlMode: "html" };
      const id = await idOf(api, "focus", "focus", { ...members, html: filled("<b></b>", 60_000) });
      return id === undefined ? [] : [`/focus/${id}.js`];
    },
  },
  ...["<script>", "<b></b>", "<", "<a ", TOKEN, "<svg onload=1>"].map(
    (text, index): DearContent => ({
      name: `a slot of ${text}`,
      async make(api) {
        const slotName = `dear${index}`;
        const members = { name: "Dear", isPublished: true, isCampaignBased: false, filters: [] };
        const content = filled(text);
        const id = await idOf(api, "dynamiccontents", "dynamicContent", { ...members, slotName, content });
        return id === undefined ? [] : [`/dwc/${slotName}`];
      },
    }),
  ),
];
