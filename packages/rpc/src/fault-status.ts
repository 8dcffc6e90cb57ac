import { create, toBinary } from "@bufbuild/protobuf";
import { type Any, anyIs, anyPack, anyUnpack, durationFromMs, durationMs } from "@bufbuild/protobuf/wkt";
import { Metadata, type ServiceError } from "@grpc/grpc-js";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "@tidings/proto/google/rpc/error_details";
import { type Status, StatusSchema } from "@tidings/proto/google/rpc/status";
import { type ItemStatus, ItemStatusSchema } from "@tidings/proto/tidings/type/v1/batch";
import { Fault } from "./fault.ts";

export const DETAILS_KEY = "grpc-status-details-bin";
const DOMAIN = "tidings";

/** A Fault as google.rpc.Status (AIP-193): ErrorInfo always, BadRequest and RetryInfo where they apply. */
export function faultToStatus(fault: Fault): Status {
  const details: Any[] = [
    anyPack(
      ErrorInfoSchema,
      create(ErrorInfoSchema, { reason: fault.reason, domain: DOMAIN, metadata: fault.metadata }),
    ),
  ];
  if (fault.violations.length > 0) {
    const fieldViolations = fault.violations.map(({ field, message }) => ({ field, description: message }));
    details.push(anyPack(BadRequestSchema, create(BadRequestSchema, { fieldViolations })));
  }
  if (fault.retryAfterSeconds !== undefined) {
    const retryDelay = durationFromMs(fault.retryAfterSeconds * 1000);
    details.push(anyPack(RetryInfoSchema, create(RetryInfoSchema, { retryDelay })));
  }
  return create(StatusSchema, { code: fault.code, message: fault.message, details });
}

/** The status of one item of a batch. */
export function itemStatus(outcome: { fault: Fault } | { created: boolean }): ItemStatus {
  return create(
    ItemStatusSchema,
    "fault" in outcome ? { error: faultToStatus(outcome.fault) } : { created: outcome.created },
  );
}

export function statusToFault(status: Status): Fault {
  const info = unpack(status.details, ErrorInfoSchema);
  const bad = unpack(status.details, BadRequestSchema);
  const retry = unpack(status.details, RetryInfoSchema);
  return new Fault({
    code: status.code,
    reason: info?.reason ?? "UNKNOWN",
    message: status.message,
    metadata: info?.metadata ?? {},
    violations: (bad?.fieldViolations ?? []).map(({ field, description }) => ({
      field,
      message: description,
    })),
    ...(retry?.retryDelay && { retryAfterSeconds: durationMs(retry.retryDelay) / 1000 }),
  });
}

/** The gRPC form of a Fault: code and message in the status, the rest in `grpc-status-details-bin`. */
export function faultToTrailers(fault: Fault): Partial<ServiceError> {
  const metadata = new Metadata();
  metadata.set(DETAILS_KEY, Buffer.from(toBinary(StatusSchema, faultToStatus(fault))));
  return { code: fault.code, details: fault.message, metadata };
}

function unpack<S extends Parameters<typeof anyUnpack>[1]>(details: Any[], schema: S) {
  const any = details.find((detail) => anyIs(detail, schema));
  return any ? anyUnpack<S>(any, schema) : undefined;
}
