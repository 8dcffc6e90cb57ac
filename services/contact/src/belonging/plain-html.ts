import sanitizeHtml from "sanitize-html";

const OPTIONS = {
  allowedTags: "p br b strong i em u a ul ol li blockquote".split(" "),
  allowedAttributes: { a: ["href"] },
  allowedSchemes: ["http", "https", "mailto"],
  allowProtocolRelative: false,
  nestingLimit: 50,
};

/** HTML with formatting and links only: what may run, load or restyle anything is taken out. Text stays as it is. */
export function plainHtml(html: string): string {
  return html.includes("<") ? sanitizeHtml(html, OPTIONS) : html;
}
