import type { Mailbox } from "@tidings/mail/compose-mail";
import { htmlLinks } from "@tidings/rendering/html-links";
import { scanHtml } from "@tidings/rendering/scan-html";
import { inSteps } from "@tidings/runtime/long-work";
import type { EmailRevision } from "./email-revision.ts";
import { isTracked } from "./mail-template.ts";
import type { RenderedMail } from "./render-mail.ts";
import { renderUnsent, type UnsentOptions } from "./render-unsent.ts";

/** Something that readers of a mail, or their programs, would not like. */
export interface MailWarning {
  code: "no_unsubscribe" | "clipped" | "image_without_alt" | "empty_link";
  message: string;
}

export interface MailPreview extends RenderedMail {
  /** The length of the HTML. */
  bytes: number;
  links: { url: string; tracked: boolean }[];
  warnings: MailWarning[];
}

/** Gmail shows no more of a mail. */
const BYTES_SHOWN = 102_400;
/** An email as a contact would get it now, or nobody in particular. Nothing is sent, counted or kept. Links are shown as they are written. */
export async function previewMail(
  revision: EmailRevision,
  { isBulk, ...shown }: { contactId: number | undefined; isBulk: boolean; now: number },
  options: UnsentOptions,
): Promise<MailPreview> {
  const mail = await renderUnsent(revision, { ...shown, tokens: {} }, options);
  const links = (await inSteps(htmlLinks(mail.html))).map((link) => ({
    url: link.address,
    tracked: isTracked(link),
  }));
  const headers = [...sendersIn(mail, options.owners.usual), ...mail.headers];
  return {
    ...mail,
    headers,
    links,
    bytes: Buffer.byteLength(mail.html),
    warnings: await warningsOf(mail, links, isBulk),
  };
}

function sendersIn(
  { fromAddress, fromName, replyTo }: RenderedMail,
  usual: Mailbox | undefined,
): [name: string, value: string][] {
  const from = {
    address: fromAddress || (usual?.address ?? ""),
    name: fromName || (fromAddress ? "" : (usual?.name ?? "")),
  };
  return [
    ...(from.address ? [["From", written(from)] as [string, string]] : []),
    ...(replyTo ? [["Reply-To", written(replyTo)] as [string, string]] : []),
  ];
}

function written({ name, address }: Mailbox): string {
  return name ? `${name} <${address}>` : address;
}

async function warningsOf(
  { html, text }: RenderedMail,
  links: { url: string }[],
  isBulk: boolean,
): Promise<MailWarning[]> {
  const canLeave = [html, text].some((part) => /\/email\/(?:unsubscribe|dnc)\//.test(part));
  return [
    ...(isBulk && !canLeave
      ? [
          warning(
            "no_unsubscribe",
            "There is no link to unsubscribe: {unsubscribe_url} or {unsubscribe_text}.",
          ),
        ]
      : []),
    ...(Buffer.byteLength(html) > BYTES_SHOWN
      ? [warning("clipped", `The HTML is longer than ${BYTES_SHOWN} bytes: some programs show a part of it.`)]
      : []),
    ...((await inSteps(hasImageWithoutAlt(html)))
      ? [warning("image_without_alt", "A picture has no alternative text.")]
      : []),
    ...(links.some(({ url }) => url === "" || url === "#")
      ? [warning("empty_link", "A link leads nowhere.")]
      : []),
  ];
}

function warning(code: MailWarning["code"], message: string): MailWarning {
  return { code, message };
}

function* hasImageWithoutAlt(html: string): Generator<void, boolean> {
  let isFound = false;
  let isImage = false;
  let hasAlt = false;
  yield* scanHtml(html, {
    openTag(name) {
      isImage = name === "img";
      hasAlt = false;
    },
    attribute(name) {
      hasAlt ||= name === "alt";
    },
    tagEnd() {
      isFound ||= isImage && !hasAlt;
    },
    closeTag: () => undefined,
    text: () => undefined,
  });
  return isFound;
}
