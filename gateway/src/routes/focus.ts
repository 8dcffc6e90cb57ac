import { FocusMethodService } from "@tidings/proto/tidings/content/v1/focus_item";
import { jsonAnswer } from "../route/answer.ts";
import { entityId } from "../route/parameter.ts";
import { type Route, route } from "../route/route.ts";
import { closed, TEXT } from "../route/schema.ts";
import type { RoutesContext } from "./routes-context.ts";

/** Routes of focus items beyond the standard operations: how they are shown. */
export function focusRoutes({ clients }: RoutesContext): Route[] {
  const items = clients.of(FocusMethodService);
  return [
    route({
      method: "POST",
      path: "/focus/:id/js",
      summary: "Get the script that shows a focus item on a website",
      rpc: FocusMethodService.method.renderFocusItem,
      budget: "read",
      parameters: { id: entityId("focus", "view") },
      answer: jsonAnswer(closed({ js: TEXT })),
      async handle({ parameters, options }) {
        const { script } = await items.renderFocusItem(parameters, options);
        return { js: script };
      },
    }),
  ];
}
