import http from "k6/http";
import type { Api, Entity } from "../api.ts";
import { journey } from "../journey.ts";
import { LIST, READ, WRITE } from "../limits.ts";

const HTML = "<html><body><h1>Hello {contactfield=firstname}</h1><p>There is news.</p></body></html>";
const FILE_TEXT = "All there is to know.\n".repeat(100);

/** Somebody writes an email, a page and a dynamic content, and offers a file. */
export const contentEdit = journey({
  perMinute: 20,
  endpoints: {
    "POST /emails/new": WRITE,
    "GET /emails/:id": READ,
    "PATCH /emails/:id/edit": WRITE,
    "GET /emails": LIST,
    "DELETE /emails/:id/delete": WRITE,
    "POST /pages/new": WRITE,
    "PATCH /pages/:id/edit": WRITE,
    "GET /pages": LIST,
    "DELETE /pages/:id/delete": WRITE,
    "POST /dynamiccontents/new": WRITE,
    "DELETE /dynamiccontents/:id/delete": WRITE,
    "POST /files/:directory/new": WRITE,
    "POST /assets/new": WRITE,
    "GET /assets/:id": READ,
    "DELETE /assets/:id/delete": WRITE,
  },
  prepare: () => undefined,
  iterate(api, _data, mark) {
    const draft = { name: mark, subject: "News", customHtml: HTML, emailType: "template" };
    const { email } = api<{ email: Entity }>("POST /emails/new", { body: draft, status: 201 });
    api("GET /emails/:id", { path: { id: email.id } });
    api("PATCH /emails/:id/edit", { path: { id: email.id }, body: { subject: "More news" } });
    api("GET /emails", { query: "limit=30" });
    api("DELETE /emails/:id/delete", { path: { id: email.id } });

    const { page } = api<{ page: Entity }>("POST /pages/new", {
      body: { title: mark, customHtml: HTML },
      status: 201,
    });
    api("PATCH /pages/:id/edit", { path: { id: page.id }, body: { metaDescription: "All about us" } });
    api("GET /pages", { query: "limit=30" });
    api("DELETE /pages/:id/delete", { path: { id: page.id } });

    const slot = { name: mark, isCampaignBased: true, content: "<p>Hello</p>" };
    const made = api<{ dynamicContent: Entity }>("POST /dynamiccontents/new", { body: slot, status: 201 });
    api("DELETE /dynamiccontents/:id/delete", { path: { id: made.dynamicContent.id } });

    offerFile(api, mark);
  },
  remove: () => undefined,
});

type FileEndpoint =
  | "POST /files/:directory/new"
  | "POST /assets/new"
  | "GET /assets/:id"
  | "DELETE /assets/:id/delete";

/** The file goes with its asset. */
function offerFile(api: Api<FileEndpoint>, title: string): void {
  const form = { file: http.file(FILE_TEXT, "guide.txt", "text/plain") };
  const { file } = api<{ file: { name: string } }>("POST /files/:directory/new", {
    path: { directory: "assets" },
    form,
  });
  const body = { title, storageLocation: "local", file: file.name };
  const { asset } = api<{ asset: Entity }>("POST /assets/new", { body, status: 201 });
  api("GET /assets/:id", { path: { id: asset.id } });
  api("DELETE /assets/:id/delete", { path: { id: asset.id } });
}
