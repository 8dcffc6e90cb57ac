import { type Html, html } from "@tidings/runtime/html";

/** The attributes of an element: true stands for a name without a value, undefined for none. */
export type Attributes = Record<string, string | number | true | undefined>;

const SAFE = new Set(
  `accept accept-charset autocapitalize autocomplete autofocus class cols dir disabled enterkeyhint height id inputmode lang
  list max maxlength min minlength novalidate pattern placeholder readonly rel role rows size spellcheck step style tabindex
  target title width wrap`.split(/\s+/),
);
const SAFE_KIND = /^(?:data|aria)-[a-z0-9_-]+$/;
const ATTRIBUTE = /([a-z][a-z0-9_-]*)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'=<>`]+)))?/giy;

/** The attributes that somebody wrote as in HTML, of those that do nothing by themselves. Nothing else of the text is kept. */
export function attributesOf(text: string | undefined): Attributes {
  const attributes: [string, string | true][] = [];
  const source = text ?? "";
  for (let at = 0; at < source.length; ) {
    ATTRIBUTE.lastIndex = at;
    const found = ATTRIBUTE.exec(source);
    at = found ? ATTRIBUTE.lastIndex : at + 1;
    const name = found?.[1]?.toLowerCase() ?? "";
    if (SAFE.has(name) || SAFE_KIND.test(name))
      attributes.push([name, found?.[2] ?? found?.[3] ?? found?.[4] ?? true]);
  }
  return Object.fromEntries(attributes);
}

/** An element with attributes of its own and those that somebody added: its own win, classes are joined. */
export function element(name: string, own: Attributes, added: Attributes, content?: Html[]): Html {
  const classes = [own.class, added.class].filter((value) => typeof value === "string").join(" ");
  const attributes = { ...added, ...present(own), ...(classes !== "" && { class: classes }) };
  const opening = `<${name}${Object.entries(attributes).map(written).join("")}>`;
  return { markup: content ? `${opening}${markupOf(content)}</${name}>` : opening };
}

export function markupOf(content: Html[]): string {
  return content.map(({ markup }) => markup).join("");
}

function present(attributes: Attributes): Attributes {
  return Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined));
}

function written([name, value]: [string, Attributes[string]]): string {
  return value === true ? ` ${name}` : ` ${name}="${html`${value}`.markup}"`;
}
