import { TriggerService } from "@tidings/proto/tidings/webhook/v1/trigger";
import { jsonAnswer } from "../route/answer.ts";
import { type Route, route } from "../route/route.ts";
import { closed, TEXT } from "../route/schema.ts";
import type { RoutesContext } from "./routes-context.ts";

const TRIGGER = closed({ label: TEXT, description: TEXT });

/** Routes of webhooks beyond the standard operations. */
export function hookRoutes({ clients }: RoutesContext): Route[] {
  const triggers = clients.of(TriggerService);
  return [
    route({
      method: "GET",
      path: "/hooks/triggers",
      summary: "List what webhooks can be sent about",
      rpc: TriggerService.method.listTriggers,
      answer: jsonAnswer(closed({ triggers: { type: "object", additionalProperties: TRIGGER } })),
      async handle({ options }) {
        const listed = await triggers.listTriggers({}, options);
        const entries = listed.triggers.map(({ name, label, description }) => [name, { label, description }]);
        return { triggers: Object.fromEntries(entries) };
      },
    }),
  ];
}
