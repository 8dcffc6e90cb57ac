import { PointActionMethodService } from "@tidings/proto/tidings/campaign/v1/point_action";
import { PointActionService } from "@tidings/proto/tidings/campaign/v1/point_action_service";
import { PointTriggerMethodService } from "@tidings/proto/tidings/campaign/v1/point_trigger";
import { PointTriggerService } from "@tidings/proto/tidings/campaign/v1/point_trigger_service";
import { implementStandard } from "@tidings/resource/implement-resource";
import type { ResourceContext } from "@tidings/resource/repository-options";
import { type Implementation, implement } from "@tidings/rpc/server";
import { actionKinds, pointActions } from "./action.ts";
import { listedTypes } from "./kind.ts";
import { eventKinds, pointTriggers } from "./trigger.ts";

/** SQL: the JSON of a group within actions and triggers. */
export const POINT_GROUP_SHOWN = "json_build_object('id', id, 'name', name, 'description', description)";

/** The services of point actions and triggers. */
export function pointServices(context: ResourceContext): Implementation[] {
  const triggers = pointTriggers(context);
  return [
    implementStandard(PointActionService, pointActions(context)),
    implement(PointActionMethodService, { listPointActionTypes: () => listedTypes(actionKinds) }),
    implementStandard(PointTriggerService, triggers),
    implement(PointTriggerMethodService, {
      listPointTriggerEventTypes: () => listedTypes(eventKinds),
      async deletePointTriggerEvents({ id, eventIds }, call) {
        const removed = { field: "events", ids: eventIds };
        const change = { id, message: undefined, updateMask: undefined, allowMissing: false, removed };
        return (await triggers.update(change, call)).item;
      },
    }),
  ];
}
