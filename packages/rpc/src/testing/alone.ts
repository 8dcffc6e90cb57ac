import { fromBinary } from "@bufbuild/protobuf";
import { Client, credentials, Metadata, type ServiceError } from "@grpc/grpc-js";
import { StatusSchema } from "@tidings/proto/google/rpc/status";
import { channelOptions } from "../channel.ts";
import { Code, deadlineExceeded, type Fault, unavailable } from "../fault.ts";
import { DETAILS_KEY, statusToFault } from "../fault-status.ts";
import type { Connection } from "../stream/connection.ts";

/** Sends each call as a gRPC call of its own, as tools do that know nothing of lines. */
export function connectAlone(address: string): Connection {
  const client = new Client(address, credentials.createInsecure(), channelOptions);
  const asIs = (bytes: Buffer) => bytes;
  return {
    call: ({ method, actor, requestId, message, deadlineMs }) =>
      new Promise((resolve, reject) => {
        const metadata = new Metadata();
        metadata.set("tidings-actor", actor);
        metadata.set("tidings-request-id", requestId);
        const options = { deadline: deadlineMs };
        const done = (error: ServiceError | null, bytes?: Buffer) =>
          bytes
            ? resolve({ message: bytes, version: 0, next: "", replayed: false })
            : reject(error && toFault(error));
        client.makeUnaryRequest(`/${method}`, asIs, asIs, Buffer.from(message), metadata, options, done);
      }),
    close: () => client.close(),
  };
}

function toFault(error: ServiceError): Fault {
  const [details] = error.metadata.get(DETAILS_KEY);
  if (Buffer.isBuffer(details)) return statusToFault(fromBinary(StatusSchema, details));
  return error.code === Code.DEADLINE_EXCEEDED ? deadlineExceeded(error) : unavailable(error);
}
