import type { Database } from "@tidings/database/database";
import { type ParsedMail, parseMail } from "@tidings/mail/parse-mail";
import { limited } from "@tidings/runtime/limited";
import type { EndingTokens } from "@tidings/secrets/public-token";
import { type Request, type Response, Router } from "express";
import { describeDownload, describeFile } from "../file/describe-file.ts";
import { mailPolicy } from "../web/policy.ts";
import type { FolderMail, MailFolder } from "./mail-folder.ts";
import { isPicture, withPictures } from "./mail-pictures.ts";
import { ownedMails } from "./owned-mails.ts";

/** A part of a kept mail: the HTML, the whole file, or the attachment with this index. As a picture it is shown in the HTML. */
export type KeptPart = "html" | "source" | number | `picture:${number}`;

const LINK_MS = 3_600_000;
const READ_MS = 5_000;
const KEPT_PATH = "/email/kept/";

export interface KeptOptions {
  database: Database;
  folder: MailFolder;
  tokens: EndingTokens;
  publicUrl: string;
}

/** A large mail takes several times its size: they are read one at a time. */
const oneAtATime = limited(1);

/** A kept mail; undefined where there is none of this id any more. */
export async function readKept(
  { database, folder }: Pick<KeptOptions, "database" | "folder">,
  id: string,
  deadlineMs: number,
): Promise<{ mail: FolderMail; octets: Buffer; parsed: ParsedMail } | undefined> {
  const found = await folder.find(id);
  const [mail] = found ? await ownedMails(database, folder, [found], deadlineMs) : [];
  return (
    mail &&
    oneAtATime(async () => {
      const octets = await folder.read(mail);
      const parsed = octets && (await parseMail(octets).catch(() => undefined));
      return octets && parsed && { mail, octets, parsed };
    })
  );
}

/** The address of a part of a mail. The caller has checked that the mail may be viewed. */
export function keptLink({ tokens, publicUrl }: KeptOptions, id: string, part: KeptPart): string {
  const token = tokens.sign(`${part} ${id}`, Date.now() + LINK_MS);
  return new URL(KEPT_PATH + token, publicUrl).href;
}

/**
 * `GET /email/kept/<token>`: a part of a kept mail, for the page that shows it. It is on the host of the public web, so that nothing in a mail comes
 * near the API.
 */
export function keptRoutes(options: KeptOptions): Router {
  const policy = mailPolicy(options.publicUrl, ["/media/", KEPT_PATH]);
  const router = Router({ caseSensitive: true });
  router.get("/email/kept/:token", async (request: Request, response: Response, next) => {
    const [part = "", id = ""] = options.tokens.read(String(request.params.token))?.split(" ") ?? [];
    const kept = id === "" ? undefined : await readKept(options, id, Date.now() + READ_MS);
    if (!kept) return next();
    response.setHeader("referrer-policy", "no-referrer");
    response.setHeader("x-robots-tag", "noindex, nofollow, noarchive");
    if (part === "source") return void response.type("text/plain").send(kept.octets);
    if (part === "html") {
      response.setHeader("content-security-policy", policy);
      const shown = await withPictures(kept.parsed, (index) => keptLink(options, id, `picture:${index}`));
      return void response.type("text/html").send(inNewTabs(shown));
    }
    const { attachments } = kept.parsed;
    const picture = attachments[Number(/^picture:(\d+)$/.exec(part)?.[1] ?? -1)];
    if (picture && isPicture(picture)) {
      const { type: mime, bytes } = picture;
      describeFile(response, { mime, length: bytes.length, disposition: "inline" });
      return void response.end(bytes);
    }
    const attachment = attachments[Number(part)];
    if (!attachment) return next();
    describeDownload(response, attachment.name, attachment.bytes.length);
    response.end(attachment.bytes);
  });
  return router;
}

const DOCTYPE = /^\s*(?:<!doctype[^>]*>)?/i;

/** A link in a frame would load its page there. */
function inNewTabs(html: string): string {
  return html.replace(DOCTYPE, (start) => `${start}<base target="_blank">`);
}
