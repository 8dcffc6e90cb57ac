import { backgroundDeadline, queryable } from "@tidings/database/database";
import { composeMail, type Mailbox } from "@tidings/mail/compose-mail";
import type { DkimKey } from "@tidings/mail/dkim";
import { wireAddress } from "@tidings/mail/mail-address";
import { htmlLinks } from "@tidings/rendering/html-links";
import { scanHtml } from "@tidings/rendering/scan-html";
import { inSteps } from "@tidings/runtime/long-work";
import { attachableAssets } from "../asset/attachable.ts";
import type { FieldAliases } from "../visit/field-aliases.ts";
import { deadLinks, type LinkSettings } from "./dead-links.ts";
import { type EmailRevision, presentRevision } from "./email-revision.ts";
import { isTracked, targetOf } from "./mail-template.ts";
import { type MailWarning, templateWarnings, warning } from "./mail-warnings.ts";
import { notWritten } from "./not-written.ts";
import type { RenderedMail } from "./render-mail.ts";
import { compileUnsent, NO_SEND, renderCompiled, type UnsentOptions } from "./render-unsent.ts";
import { headersOf } from "./write-send.ts";

export interface MailPreview extends RenderedMail {
  /** The length of the mail as it would leave, with its headers and attachments. */
  bytes: number;
  links: { url: string; tracked: boolean }[];
  warnings: MailWarning[];
}

export interface PreviewOptions extends LinkSettings {
  rendering: UnsentOptions;
  /** Keys that sign mails. */
  dkimKeys: DkimKey[];
  /** Links lead by way of us. */
  tracksLinks: boolean;
  knownFields: FieldAliases;
}

/** Gmail shows no more of a mail. */
const BYTES_SHOWN = 102_400;
/** Base64 has 4 octets for 3, in lines of 76 that end with CRLF (RFC 2045, 6.8). */
const BASE64_LINE = 57;

/** An email as a contact would get it at a time, or nobody in particular. Nothing is sent, counted or kept. Links are shown as they are written. */
export async function previewMail(
  revision: EmailRevision,
  { isBulk, ...shown }: { contactId: number | undefined; isBulk: boolean; now: number },
  options: PreviewOptions,
): Promise<MailPreview> {
  const { rendering } = options;
  const template = await compileUnsent(revision, []);
  const mail = await renderCompiled(revision, template, { ...shown, tokens: {} }, rendering);
  const links = (await inSteps(htmlLinks(mail.html))).map((link) => ({
    url: link.address,
    tracked: options.tracksLinks && isTracked(link) && !rendering.links.isOwn(link.address),
  }));
  const send = { ...NO_SEND, emailId: revision.emailId, emailVersion: revision.version, isBulk, tokens: {} };
  const written = headersOf(mail.headers, send, rendering.links);
  const urls = links.map(({ url, tracked }) => (tracked ? targetOf({ address: url }) : url));
  return {
    ...mail,
    headers: [...sendersIn(mail, rendering.owners.usual), ...written],
    links,
    bytes: await lengthOf({ ...mail, headers: written }, revision.assetAttachments, shown.now, options),
    warnings: [
      ...templateWarnings(template, await options.knownFields()),
      ...(await warningsOf(mail, isBulk)),
      ...(await deadLinks(urls, shown.now, options)),
    ],
  };
}

/** Warnings about an email as it is now, whoever gets it. An email that cannot be written has its reason in place of them. */
export async function warningsOfEmail(
  emailId: number,
  { database, knownFields }: PreviewOptions,
): Promise<MailWarning[]> {
  const revision = await presentRevision(database, emailId);
  if (!revision) return [];
  const template = await compileUnsent(revision, []).catch(notWritten);
  if ("reason" in template) return [warning("not_written", template.reason)];
  return templateWarnings(template, await knownFields());
}

/** The length of the mail. Attachments are measured and not read. */
async function lengthOf(
  mail: RenderedMail,
  assetIds: number[],
  now: number,
  { database, rendering, dkimKeys }: PreviewOptions,
): Promise<number> {
  const { links, owners } = rendering;
  const somebody = { name: "", address: `nobody@${links.host}` };
  const named = { address: mail.fromAddress, name: mail.fromName };
  const replyTo = mail.replyTo && wireAddress(mail.replyTo.address) !== undefined ? mail.replyTo : undefined;
  const { subject, html, text, headers } = mail;
  const { files } = await attachableAssets(queryable(database, backgroundDeadline()), assetIds);
  const pieces = await composeMail(
    {
      ...{ subject, html, text, headers, ...(replyTo && { replyTo }) },
      messageId: `${NO_SEND.hash}@${links.host}`,
      date: new Date(now),
      from: wireAddress(named.address) === undefined ? (owners.usual ?? somebody) : named,
      to: [somebody],
      attachments: files.map(({ name, type }) => ({ name, type, bytes: Buffer.alloc(0) })),
    },
    dkimKeys,
  );
  const base64 = files.map(({ size }) => Math.ceil(size / 3) * 4 + Math.ceil(size / BASE64_LINE) * 2);
  return [...pieces.map(({ length }) => length), ...base64].reduce((sum, length) => sum + length, 0);
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
  { html, text, fromAddress }: RenderedMail,
  isBulk: boolean,
): Promise<MailWarning[]> {
  const canLeave = [html, text].some((part) => /\/email\/(?:unsubscribe|dnc)\//.test(part));
  return [
    ...(fromAddress !== "" && wireAddress(fromAddress) === undefined
      ? [warning("malformed_sender", `The sender ${fromAddress.slice(0, 100)} is no email address.`)]
      : []),
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
  ];
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
