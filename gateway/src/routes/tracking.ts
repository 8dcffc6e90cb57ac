import { TrackedSiteSchema, TrackedSiteService } from "@tidings/proto/tidings/content/v1/tracked_site";
import { messageWriter } from "../rest/message-json.ts";
import { textAnswer } from "../route/answer.ts";
import { type Route, route } from "../route/route.ts";
import { arrayOf, closed } from "../route/schema.ts";
import type { RoutesContext } from "./routes-context.ts";

const writeSite = messageWriter(TrackedSiteSchema);

/** Routes by which administrators see why the pages of a site are not tracked. */
export function trackingRoutes({ clients }: RoutesContext): Route[] {
  const sites = clients.of(TrackedSiteService);
  return [
    route({
      method: "GET",
      path: "/tracking/sites",
      summary: "List the sites whose pages report their views, with what was refused of each",
      rpc: TrackedSiteService.method.listTrackedSites,
      answer: textAnswer((components) => closed({ sites: arrayOf(components.answered(TrackedSiteSchema)) })),
      async handle({ options }) {
        const { sites: found } = await sites.listTrackedSites({}, options);
        return `{"sites":[${found.map((site) => writeSite(site)).join(",")}]}`;
      },
    }),
  ];
}
