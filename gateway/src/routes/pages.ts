import { PageMethodService, PageSchema } from "@tidings/proto/tidings/content/v1/page";
import { VariantTestSchema } from "@tidings/proto/tidings/content/v1/variant_test";
import type { Route } from "../route/route.ts";
import type { RoutesContext } from "./routes-context.ts";
import { variantTestRoutes } from "./variant-tests.ts";

/** Routes of landing pages beyond the standard operations: how a test of variants stands, and its end. */
export function pageRoutes({ clients }: RoutesContext): Route[] {
  const pages = clients.of(PageMethodService);
  const rpc = PageMethodService.method;
  return variantTestRoutes("page", {
    words: "a page",
    test: { rpc: rpc.getPageTest, call: pages.getPageTest, schema: VariantTestSchema },
    winner: { rpc: rpc.makePageWinner, call: pages.makePageWinner, schema: PageSchema },
  });
}
