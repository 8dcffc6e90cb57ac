import { backgroundDeadline } from "@tidings/database/database";
import type { Actor } from "@tidings/rpc/actor";
import type { Call } from "@tidings/rpc/call";

/** This process, when it acts in its own name. */
export const serviceActor: Actor = {
  kind: "service",
  id: null,
  name: "Webhook delivery",
  admin: false,
  permissions: {},
};

export function serviceCall(): Call {
  return { actor: serviceActor, deadlineMs: backgroundDeadline(), requestId: "", reach: () => "all" };
}
