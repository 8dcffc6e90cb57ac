import { readAttributeReferences } from "./character-references.ts";
import { scanHtml } from "./scan-html.ts";

/** A link in a text of HTML. */
export interface HtmlLink {
  /** As a browser would follow it. */
  address: string;
  /** Where its value stands in the text. */
  start: number;
  end: number;
  /** The attributes of its tag by name, as they are written. */
  attributes: ReadonlyMap<string, string>;
}

/** No author writes more of them. */
const ATTRIBUTES_MAX = 1_000;

/** The addresses of all `a` and `area`, in their order. Yields where its reader may pause. */
export function* htmlLinks(html: string): Generator<void, HtmlLink[]> {
  const links: HtmlLink[] = [];
  let isLink = false;
  let attributes = new Map<string, string>();
  let href: { value: string; start: number } | undefined;
  yield* scanHtml(html, {
    openTag(name) {
      isLink = name === "a" || name === "area";
      attributes = new Map();
      href = undefined;
    },
    attribute(name, value, start) {
      // The first of a name counts (HTML, 13.2.5.33).
      if (!isLink || attributes.has(name) || attributes.size === ATTRIBUTES_MAX) return;
      attributes.set(name, value);
      if (name === "href") href = { value, start };
    },
    tagEnd() {
      if (!isLink || !href) return;
      const { value, start } = href;
      links.push({
        address: readAttributeReferences(value).trim(),
        start,
        end: start + value.length,
        attributes,
      });
      href = undefined;
    },
    closeTag: () => undefined,
    text: () => undefined,
  });
  return links;
}
