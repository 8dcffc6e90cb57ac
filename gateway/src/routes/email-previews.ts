import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { EmailMethodService } from "@tidings/proto/tidings/content/v1/email";
import { parseJson } from "@tidings/resource/json-member";
import type { RpcClient } from "@tidings/rpc/client";
import { jsonAnswer } from "../route/answer.ts";
import { objectBody } from "../route/body-form.ts";
import { entityId } from "../route/parameter.ts";
import { idIn, type QueryForm, timeIn } from "../route/query-form.ts";
import { type Route, route } from "../route/route.ts";
import { arrayOf, COUNT, closed, TEXT, WARNINGS, WHOLE_NUMBER } from "../route/schema.ts";
import { sentMembers } from "./broadcast-json.ts";

const DRY_RUN_BODY = objectBody({
  type: "object",
  properties: { lists: arrayOf(WHOLE_NUMBER), limit: WHOLE_NUMBER },
  examples: [{ limit: 1_000 }],
});
const DRY_RUN = jsonAnswer(
  closed({
    wouldSend: COUNT,
    excluded: { type: "object", additionalProperties: COUNT },
    samples: arrayOf(closed({ contactId: COUNT, address: TEXT, variant: COUNT })),
    warnings: WARNINGS,
  }),
);
const PREVIEW = jsonAnswer(
  closed({
    ...{ subject: TEXT, html: TEXT, text: TEXT, bytes: COUNT },
    headers: arrayOf(closed({ name: TEXT, value: TEXT })),
    links: arrayOf(closed({ url: TEXT, tracked: { type: "boolean" } })),
    warnings: WARNINGS,
  }),
);
const PREVIEW_QUERY: QueryForm<{ contactId: number; variantId: number; on?: Timestamp }> = {
  parameters: [
    {
      name: "contactId",
      description: "The contact; nobody in particular when absent",
      schema: { type: "integer", minimum: 1 },
    },
    {
      name: "variant",
      description: "A variant or translation of the email, shown in its place",
      schema: { type: "integer", minimum: 1 },
    },
    {
      name: "on",
      description: "The time at which the email is shown; now when absent",
      schema: { type: "string", format: "date-time" },
    },
  ],
  read: ({ contactId, variant, on }) => ({
    contactId: idIn("contactId", contactId),
    variantId: idIn("variant", variant),
    ...(on !== undefined && { on: timeIn("on", on) }),
  }),
};
const EXPLANATION = jsonAnswer(
  closed({
    verdict: { enum: ["sent", "will", "wont", "unknown"] },
    rules: arrayOf(
      closed({
        rule: {
          enum: [
            ...["published", "segment_email", "member", "not_excluded", "address"],
            ...["do_not_contact", "suppression", "category", "pause", "frequency", "once", "other_occasion"],
          ],
        },
        ...{ holds: { type: "boolean" }, since: { type: ["string", "null"] }, detail: TEXT },
      }),
    ),
  }),
);

/** Routes that show a mail and its recipients before anything is sent. */
export function emailPreviewRoutes(emails: RpcClient<typeof EmailMethodService>): Route[] {
  const rpc = EmailMethodService.method;
  return [
    route({
      method: "GET",
      path: "/emails/:id/preview",
      summary: "Get an email as a contact would get it",
      rpc: rpc.previewEmail,
      parameters: { id: entityId("emails", "view") },
      query: PREVIEW_QUERY,
      answer: PREVIEW,
      errors: [409],
      async handle({ parameters: { id }, query, options }) {
        const { subject, html, text, bytes, headers, links, warnings } = await emails.previewEmail(
          { id, ...query },
          options,
        );
        return {
          ...{ subject, html, text, bytes },
          ...{ headers: parseJson(headers), links: parseJson(links), warnings: parseJson(warnings) },
        };
      },
    }),
    route({
      method: "GET",
      path: "/emails/:id/contact/:contactId/explain",
      summary: "Get why a contact gets a segment email, or does not",
      rpc: rpc.explainSend,
      parameters: {
        id: entityId("emails", "view"),
        contactId: entityId("contacts", "view", { isAskedAnew: true }),
      },
      answer: EXPLANATION,
      async handle({ parameters, options }) {
        const { verdict, rules } = await emails.explainSend(parameters, options);
        return { verdict, rules: parseJson(rules) };
      },
    }),
    dryRunRoute(emails),
  ];
}

function dryRunRoute(emails: RpcClient<typeof EmailMethodService>): Route {
  return route({
    method: "POST",
    path: "/emails/:id/dry-run",
    summary: "Count who would get a segment email",
    rpc: EmailMethodService.method.dryRunEmail,
    isRead: true,
    parameters: { id: entityId("emails", "view") },
    body: DRY_RUN_BODY,
    budget: "batch",
    answer: DRY_RUN,
    async handle({ parameters: { id }, body, options }) {
      const { wouldSend, excluded, samples, warnings } = await emails.dryRunEmail(
        { id, ...sentMembers(body, ["lists", "limit"]) },
        options,
      );
      return {
        ...{ wouldSend, excluded: parseJson(excluded) },
        ...{ samples: parseJson(samples), warnings: parseJson(warnings) },
      };
    },
  });
}
