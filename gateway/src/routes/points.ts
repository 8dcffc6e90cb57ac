import { PointActionMethodService } from "@tidings/proto/tidings/campaign/v1/point_action";
import {
  PointTriggerMethodService,
  PointTriggerSchema,
} from "@tidings/proto/tidings/campaign/v1/point_trigger";
import type { PointType } from "@tidings/proto/tidings/campaign/v1/point_type";
import { presentWriter } from "../rest/message-json.ts";
import { jsonAnswer, messageAnswer } from "../route/answer.ts";
import { entityId } from "../route/parameter.ts";
import { idsQuery } from "../route/query-form.ts";
import { type Route, route } from "../route/route.ts";
import { closed, TEXT } from "../route/schema.ts";
import type { RoutesContext } from "./routes-context.ts";

const LABELS = { type: "object", additionalProperties: TEXT };

/** Routes of point actions and triggers beyond the standard operations. */
export function pointRoutes({ clients, nested }: RoutesContext): Route[] {
  const actions = clients.of(PointActionMethodService);
  const triggers = clients.of(PointTriggerMethodService);
  const rpc = PointTriggerMethodService.method;
  return [
    route({
      method: "GET",
      path: "/points/actions/types",
      summary: "List what a point action can be about",
      rpc: PointActionMethodService.method.listPointActionTypes,
      answer: jsonAnswer(closed({ pointActionTypes: LABELS })),
      async handle({ options }) {
        const { types } = await actions.listPointActionTypes({}, options);
        return { pointActionTypes: labelsOf(types) };
      },
    }),
    route({
      method: "GET",
      path: "/points/triggers/events/types",
      summary: "List what a point trigger can do",
      rpc: rpc.listPointTriggerEventTypes,
      answer: jsonAnswer(closed({ eventTypes: LABELS })),
      async handle({ options }) {
        const { types } = await triggers.listPointTriggerEventTypes({}, options);
        return { eventTypes: labelsOf(types) };
      },
    }),
    route({
      method: "DELETE",
      path: "/points/triggers/:id/events/delete",
      summary: "Remove events from a point trigger",
      rpc: rpc.deletePointTriggerEvents,
      parameters: { id: entityId("points/triggers", "edit") },
      query: idsQuery("events"),
      // Members that are null are left out.
      answer: messageAnswer("trigger", PointTriggerSchema, {
        write: presentWriter(PointTriggerSchema, nested),
        isPart: true,
      }),
      handle: ({ parameters: { id }, query: eventIds, options }) =>
        triggers.deletePointTriggerEvents({ id, eventIds }, options),
    }),
  ];
}

function labelsOf(types: PointType[]): Record<string, string> {
  return Object.fromEntries(types.map(({ name, label }) => [name, label]));
}
