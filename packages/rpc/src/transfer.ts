import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { StatusSchema } from "@tidings/proto/google/rpc/status";
import type { Fault } from "./fault.ts";
import { faultToStatus, statusToFault } from "./fault-status.ts";

/**
 * Where bytes go from process to process by HTTP, since a call would hold all of them at once: the names under which a request
 * says what a call would say, and a Fault as the body of its answer.
 */
export const ACTOR_HEADER = "tidings-actor";
export const REQUEST_ID_HEADER = "x-request-id";
/** An idempotency key, both parts as base64url; and whether the answer is that of an earlier request. */
export const KEY_HEADERS = { secret: "tidings-key-secret", fingerprint: "tidings-key-fingerprint" };
export const REPLAYED_HEADER = "tidings-replayed";
/** Nothing below it is for visitors. */
export const TRANSFER_PATH = "/-/";

export function faultBytes(fault: Fault): Buffer {
  return Buffer.from(toBinary(StatusSchema, faultToStatus(fault)));
}

export function faultOfBytes(bytes: Uint8Array): Fault {
  return statusToFault(fromBinary(StatusSchema, bytes));
}
