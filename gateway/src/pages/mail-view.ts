import { type GetKeptMailResponse, KeptMailService } from "@tidings/proto/tidings/content/v1/kept_mail";
import { type Html, html, named } from "@tidings/runtime/html";
import type { Request, Response } from "express";
import { callOf, type MailPagesOptions, NOTHING_LEAVES, timeOf } from "./mail-list.ts";
import { menuOf, openMember } from "./member.ts";
import { MAIL_PATH } from "./next.ts";
import { sendPage } from "./page.ts";

/**
 * One kept mail. Its HTML is in a frame of the public web, in a sandbox: nothing in it runs, and it reaches neither this page nor its host.
 */
export function mailView(options: MailPagesOptions) {
  return async (request: Request, response: Response): Promise<void> => {
    const member = await openMember(request, response, options);
    if (!member) return;
    const mails = options.clients.of(KeptMailService);
    const found = await mails.getKeptMail({ id: String(request.params.id) }, callOf(member, response));
    const { htmlUrl, mail } = found;
    const title = mail?.subject || "(no subject)";
    sendPage(response, {
      title,
      content: content(title, found),
      menu: menuOf(member, MAIL_PATH),
      frameOrigin: htmlUrl ? new URL(htmlUrl).origin : undefined,
    });
  };
}

function content(title: string, found: GetKeptMailResponse): Html {
  const { mail, htmlUrl, text, headers, source, sourceUrl, attachments } = found;
  return html`<h1>${named(title)}</h1>
${NOTHING_LEAVES}
<dl><dt>From</dt><dd>${named(mail?.from ?? "")}</dd><dt>To</dt><dd>${named(mail?.to ?? "")}</dd><dt>Kept at</dt><dd>${timeOf(mail?.keptAt)}</dd></dl>
${htmlUrl ? frame(htmlUrl) : undefined}
${attachments.length > 0 ? attachmentList(attachments) : undefined}
${part("Text", html`<code class="block">${text || "(none)"}</code>`, htmlUrl === "")}
${part("Headers", html`<dl>${headers.map(({ name, value }) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`)}
${part("Source", html`<p><a href="${sourceUrl}" target="_blank" rel="noopener">The whole source</a></p><code class="block">${source}</code>`)}
<p><a href="${MAIL_PATH}">All mails</a></p>`;
}

function frame(url: string): Html {
  return html`<iframe title="The mail as its reader would see it" src="${url}" referrerpolicy="no-referrer"
 sandbox="allow-popups allow-popups-to-escape-sandbox"></iframe>`;
}

function attachmentList(attachments: GetKeptMailResponse["attachments"]): Html {
  const items = attachments.map(
    ({ name, type, bytes, url }) =>
      html`<li><a href="${url}">${name ? named(name) : "(no name)"}</a> <span class="quiet">${type}, ${bytes} bytes</span></li>`,
  );
  return html`<section aria-labelledby="attachments"><h2 id="attachments">Attachments</h2><ul>${items}</ul></section>`;
}

function part(name: string, shown: Html, isOpen = false): Html {
  return html`<details class="sheet"${isOpen ? html` open` : undefined}><summary>${name}</summary>
${shown}</details>`;
}
