import { PageMethodService, PageSchema } from "@tidings/proto/tidings/content/v1/page";
import { VariantTestSchema } from "@tidings/proto/tidings/content/v1/variant_test";
import { messageAnswer } from "../route/answer.ts";
import { entityId } from "../route/parameter.ts";
import { type Route, route } from "../route/route.ts";
import type { RoutesContext } from "./routes-context.ts";

/** Routes of landing pages beyond the standard operations: how a test of variants stands, and its end. */
export function pageRoutes({ clients }: RoutesContext): Route[] {
  const pages = clients.of(PageMethodService);
  const rpc = PageMethodService.method;
  return [
    route({
      method: "GET",
      path: "/pages/:id/test",
      summary: "Get how the A/B test of a page stands",
      rpc: rpc.getPageTest,
      parameters: { id: entityId("pages", "view") },
      answer: messageAnswer("test", VariantTestSchema),
      handle: ({ parameters, options }) => pages.getPageTest(parameters, options),
    }),
    route({
      method: "POST",
      path: "/pages/:id/winner",
      summary: "Make a variant of a page the winner of its A/B test",
      rpc: rpc.makePageWinner,
      parameters: { id: entityId("pages", "edit") },
      answer: messageAnswer("page", PageSchema),
      handle: ({ parameters, options }) => pages.makePageWinner(parameters, options),
    }),
  ];
}
