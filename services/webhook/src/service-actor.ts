import { backgroundDeadline } from "@tidings/database/database";
import type { Actor } from "@tidings/rpc/actor";
import type { Call } from "@tidings/rpc/call";
import type { Outgoing } from "@tidings/rpc/client";

/** This process, when it acts in its own name. */
const serviceActor: Actor = {
  kind: "service",
  id: null,
  name: "Webhook delivery",
  admin: false,
  permissions: {},
};

const TIMEOUT_MS = 10_000;

/** A call to another service. */
export function outgoingCall(): Outgoing {
  return { actor: serviceActor, deadlineMs: Date.now() + TIMEOUT_MS, requestId: "" };
}

export function serviceCall(): Call {
  return { actor: serviceActor, deadlineMs: backgroundDeadline(), requestId: "", reach: () => "all" };
}
