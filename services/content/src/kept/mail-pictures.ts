import type { MailPart, ParsedMail } from "@tidings/mail/parse-mail";
import { scanHtml } from "@tidings/rendering/scan-html";
import { html } from "@tidings/runtime/html";
import { inSteps } from "@tidings/runtime/long-work";

/** Pictures that a browser draws and never runs: SVG is a document. */
const PICTURES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
/** Each is read out of its mail by itself. More pictures stay as they are. */
const PICTURES_MAX = 50;

export function isPicture({ type }: Pick<MailPart, "type">): boolean {
  return PICTURES.has(type.toLowerCase());
}

/** The HTML of a mail, with addresses in place of the names of its own pictures (`cid:`, RFC 2392). `addressOf` is that of a part by its index. */
export async function withPictures(
  { html: document, attachments }: Pick<ParsedMail, "html" | "attachments">,
  addressOf: (index: number) => string,
): Promise<string> {
  const indexes = new Map(
    attachments.map((part, index) => [part.contentId, isPicture(part) ? index : undefined]),
  );
  indexes.delete("");
  const found: { start: number; end: number; index: number }[] = [];
  let isImage = false;
  const scanning = scanHtml(document, {
    openTag(name) {
      isImage = name === "img";
    },
    attribute(name, value, start) {
      const index = isImage && name === "src" ? indexes.get(idIn(value) ?? "") : undefined;
      if (index !== undefined && found.length < PICTURES_MAX)
        found.push({ start, end: start + value.length, index });
    },
    tagEnd: () => undefined,
    closeTag: () => undefined,
    text: () => undefined,
  });
  await inSteps(scanning);
  let shown = "";
  let from = 0;
  for (const { start, end, index } of found) {
    shown += document.slice(from, start) + html`${addressOf(index)}`.markup;
    from = end;
  }
  return shown + document.slice(from);
}

/** The id of a part in an address; undefined for any other address. */
function idIn(address: string): string | undefined {
  const encoded = /^\s*cid:(\S+)\s*$/i.exec(address)?.[1];
  if (encoded === undefined) return undefined;
  try {
    return decodeURIComponent(encoded);
  } catch {
    return encoded; // as it stands in the mail
  }
}
