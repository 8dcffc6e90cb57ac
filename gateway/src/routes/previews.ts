import { timestampDate } from "@bufbuild/protobuf/wkt";
import { EmailMethodService } from "@tidings/proto/tidings/content/v1/email";
import { FormMethodService } from "@tidings/proto/tidings/content/v1/form";
import { PageMethodService } from "@tidings/proto/tidings/content/v1/page";
import { type PreviewLink, PreviewSchema } from "@tidings/proto/tidings/content/v1/preview";
import { jsonAnswer } from "../route/answer.ts";
import { messageBody } from "../route/body-form.ts";
import { entityId } from "../route/parameter.ts";
import { type Route, route } from "../route/route.ts";
import { closed, TEXT } from "../route/schema.ts";
import type { RoutesContext } from "./routes-context.ts";

const DATE_TIME = { type: "string", format: "date-time" };

/** Signed addresses by which pages, forms and emails are shown before they are published. Making one changes nothing. */
export function previewRoutes({ clients }: RoutesContext): Route[] {
  const emails = clients.of(EmailMethodService);
  const pages = clients.of(PageMethodService);
  const forms = clients.of(FormMethodService);
  const shared = {
    method: "POST" as const,
    budget: "read" as const,
    body: messageBody(PreviewSchema, { hours: 24 }),
    answer: jsonAnswer(closed({ url: TEXT, expiresAt: DATE_TIME })),
  };
  return [
    route({
      ...shared,
      path: "/pages/:id/preview-link",
      summary: "Get an address that shows a page as a contact would see it on some day",
      rpc: PageMethodService.method.linkPagePreview,
      parameters: { id: entityId("pages", "view") },
      handle: async ({ parameters: { id }, body: preview, options }) =>
        linkJson(await pages.linkPagePreview({ id, preview }, options)),
    }),
    route({
      ...shared,
      path: "/forms/:id/preview-link",
      summary: "Get an address that shows a form as a contact would find it on some day",
      rpc: FormMethodService.method.linkFormPreview,
      parameters: { id: entityId("forms", "view") },
      handle: async ({ parameters: { id }, body: preview, options }) =>
        linkJson(await forms.linkFormPreview({ id, preview }, options)),
    }),
    route({
      ...shared,
      path: "/emails/:id/preview-link",
      summary: "Get an address that shows an email as a contact would get it on some day",
      rpc: EmailMethodService.method.linkEmailPreview,
      parameters: { id: entityId("emails", "view") },
      handle: async ({ parameters: { id }, body: preview, options }) =>
        linkJson(await emails.linkEmailPreview({ id, preview }, options)),
    }),
  ];
}

function linkJson({ url, expiresAt }: PreviewLink) {
  return { url, expiresAt: expiresAt && timestampDate(expiresAt).toISOString() };
}
