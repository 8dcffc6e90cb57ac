import {
  type DescMessage,
  type DescMethod,
  type DescMethodUnary,
  type DescService,
  fromBinary,
  type Message,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import type { MethodDefinition } from "@grpc/grpc-js";
import type { Call } from "./call.ts";

/** One function for each RPC of a service: a forgotten one does not compile. */
export type Handlers<S extends DescService> = {
  [M in keyof S["method"]]: S["method"][M] extends DescMethodUnary<infer I, infer O>
    ? (request: MessageShape<I>, call: Call) => Promise<MessageInitShape<O>> | MessageInitShape<O>
    : never;
};

/** `tidings.contact.v1.TagService/GetTag`: by this calls, metrics and logs know a method. */
export function methodName({ parent, name }: DescMethod): string {
  return `${parent.typeName}/${name}`;
}

/** A unary method in the form grpc-js wants, derived from its descriptor. */
export function methodDefinition(method: DescMethod): MethodDefinition<Message, Message> {
  return {
    path: `/${methodName(method)}`,
    requestStream: false,
    responseStream: false,
    requestSerialize: encoder(method.input),
    requestDeserialize: decoder(method.input),
    responseSerialize: encoder(method.output),
    responseDeserialize: decoder(method.output),
  };
}

function encoder(schema: DescMessage) {
  return (message: Message) => {
    const bytes = toBinary(schema, message);
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  };
}

function decoder(schema: DescMessage) {
  return (bytes: Buffer) => fromBinary(schema, bytes);
}
