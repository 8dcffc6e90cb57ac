import { backgroundDeadline, type Database, prepared } from "@tidings/database/database";
import { PLAIN_POLICY, plainPage } from "@tidings/runtime/plain-page";
import { type Request, type Response, Router } from "express";
import { isOpen } from "../family/is-open.ts";
import type { VisitSettings } from "../visit/visit-settings.ts";
import { mailPolicy } from "../web/policy.ts";
import { claimsPreview, type Preview, readPreview, setPreviewHeaders } from "../web/preview.ts";
import { rowIdOf } from "../web/row-id.ts";
import { type EmailRevision, presentRevision } from "./email-revision.ts";
import { madeOnce } from "./made-once.ts";
import type { MailTemplate } from "./mail-template.ts";
import { notWritten } from "./not-written.ts";
import type { RenderedMail } from "./render-mail.ts";
import { compileUnsent, renderCompiled, type UnsentOptions } from "./render-unsent.ts";

interface EmailPreviewOptions {
  database: Database;
  settings: VisitSettings;
  rendering: UnsentOptions;
}

type Shown = Pick<Preview, "id" | "contactId" | "at">;

const publicStatement = prepared(
  "emails_public_preview",
  `select from emails e where e.id = $1 and e.public_preview and ${isOpen("e")}`,
);
const COMPILED_MAX = 50;

/**
 * `GET /email/preview/<id>` (engines.md 6.6): an email, published or not, as a contact would get it at a time, for whoever has a signed address; and a
 * published one with `publicPreview` for anybody, with the values of nobody. Nothing is counted or kept of who looks at it.
 */
export function emailPreviewRoutes({ database, settings, rendering }: EmailPreviewOptions): Router {
  const policy = `${mailPolicy(settings.publicUrl)}; frame-ancestors 'none'`;
  const once = madeOnce<MailTemplate>(COMPILED_MAX);
  const render = async (revision: EmailRevision, { contactId, at }: Shown): Promise<RenderedMail> => {
    const key = `${revision.emailId} ${revision.version}`;
    const template = await once(key, () => compileUnsent(revision, []));
    return renderCompiled(revision, template, { contactId, tokens: {}, now: at }, rendering);
  };
  const router = Router({ caseSensitive: true });
  router.get("/email/preview/:id", async (request: Request, response: Response, next) => {
    const shown = claimsPreview(request)
      ? readPreview(settings.tokens.preview, "email", request)
      : await publicPreview(database, String(request.params.id));
    const revision = shown && (await presentRevision(database, shown.id));
    if (!shown || !revision) return next();
    const mail = await render(revision, shown).catch(notWritten);
    setPreviewHeaders(response, policy);
    if ("reason" in mail) return answerNotWritten(response, mail.reason);
    if (mail.html) response.type("text/html").send(mail.html);
    else response.type("text/plain").send(mail.text);
  });
  return router;
}

/** The email with this id, shown to anybody; undefined for one that is not public. */
async function publicPreview(database: Database, text: string): Promise<Shown | undefined> {
  const id = rowIdOf(text);
  if (id === undefined) return undefined;
  const [open] = await database.query(publicStatement, [id], backgroundDeadline());
  return open && { id, contactId: undefined, at: database.now() };
}

function answerNotWritten(response: Response, reason: string): void {
  response.setHeader("content-security-policy", PLAIN_POLICY);
  response.status(409).type("text/html").send(plainPage("This email cannot be shown", reason));
}
