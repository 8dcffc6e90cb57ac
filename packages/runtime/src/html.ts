/** Markup that is safe to send as it is. */
export interface Html {
  readonly markup: string;
}

type Content = string | number | undefined | Html | Html[];

const ENTITIES: Record<string, string> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** A template of markup: what is put in is text and escaped, unless it came from such a template itself. */
export function html(parts: TemplateStringsArray, ...contents: Content[]): Html {
  const markup = parts.map((part, index) => part + render(contents[index])).join("");
  return { markup };
}

/** A name that somebody chose: whatever direction its letters have, it does not turn the text around it (UAX #9). */
export function named(name: string): Html {
  return html`<bdi>${name}</bdi>`;
}

function render(content: Content): string {
  if (content === undefined) return "";
  if (Array.isArray(content)) return content.map(({ markup }) => markup).join("");
  if (typeof content === "object") return content.markup;
  return String(content).replace(/[&<>"']/g, (character) => ENTITIES[character] ?? "");
}
