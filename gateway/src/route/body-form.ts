import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import { isNothing } from "@tidings/resource/json-member";
import { textOf } from "@tidings/runtime/plain-text";
import { BATCH, type BodyLimits, SINGLE } from "../rest/body.ts";
import { bodyObject, type Exchange } from "../rest/exchange.ts";
import { bodyDecoder } from "../rest/message-input.ts";
import { idIn } from "./query-form.ts";
import type { Components, Schema } from "./schema.ts";

/** The body of a route: its schema, its limits and its reader. */
export interface BodyForm<B> {
  /** The schema of the JSON; undefined when no body is wanted. Forms with bracket names are read as the same. */
  describe(components: Components): Schema | undefined;
  limits: BodyLimits;
  read(exchange: Exchange): B;
  /** Callers may say the same in the query. */
  isOptional?: true;
  /** Files, as multipart/form-data alone: the body is left on the connection for the handler. */
  isUpload?: true;
}

/** Nothing is wanted. A write may have a body all the same, for some clients name the method in it. */
export const NO_BODY: BodyForm<undefined> = {
  describe: () => undefined,
  limits: SINGLE,
  read: () => undefined,
};

/** A file, which the handler reads from the request as it arrives. */
export const UPLOAD: BodyForm<undefined> = {
  describe: () => ({
    type: "object",
    properties: { file: { type: "string", contentMediaType: "application/octet-stream" } },
    required: ["file"],
  }),
  limits: SINGLE,
  read: () => undefined,
  isUpload: true,
};

/** An object that is not a message; its service reads its members. */
export function objectBody(schema: Schema): BodyForm<Record<string, unknown>> {
  return { describe: () => schema, limits: SINGLE, read: bodyObject };
}

/** Throws INVALID_ARGUMENT that names each member that cannot be read. */
export function messageBody<D extends DescMessage>(message: D, example: object): BodyForm<MessageShape<D>> {
  const decode = bodyDecoder(message);
  return {
    describe: (components) => ({ ...components.sent(message), examples: [example] }),
    limits: SINGLE,
    // The decoder makes the message of this very descriptor; the compiler cannot follow that.
    read: (exchange) => decode(bodyObject(exchange)).message as MessageShape<D>,
  };
}

/** Items of a batch, which the handler reads one by one. */
export function batchBody(describe: (components: Components) => Schema): BodyForm<unknown> {
  return { describe, limits: BATCH, read: ({ body }) => body };
}

/** The id in a member of a body, where a number may be a text; 0 when it is absent. Throws INVALID_ARGUMENT with its name. */
export function idInMember(name: string, value: unknown): number {
  return idIn(name, isNothing(value ?? null) ? undefined : (textOf(value) ?? ""));
}
