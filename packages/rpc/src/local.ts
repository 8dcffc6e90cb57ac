import { create, type DescService, type Message, type MessageInitShape } from "@bufbuild/protobuf";
import { type Handler, shown } from "./answer.ts";
import type { Outgoing, RpcClient } from "./client.ts";
import type { Handlers } from "./definition.ts";
import { type AnswerOnce, answered, repeatNameOf } from "./idempotency.ts";
import { permittedCall, requirementOf } from "./permission.ts";

/** A client of handlers in this very process: the permissions of a server, without the way to one. */
export function local<S extends DescService>(
  service: S,
  handlers: Handlers<S>,
  answerOnce?: AnswerOnce,
): RpcClient<S> {
  const methods = service.methods.map((method) => {
    const requirement = requirementOf(service, method);
    const handler = handlers[method.localName as keyof Handlers<S>] as Handler;
    const call = async (
      request: MessageInitShape<typeof method.input>,
      { actor, deadlineMs, requestId, expected, idempotencyKey: key, onAnswer }: Outgoing,
    ): Promise<Message> => {
      const repeatName = repeatNameOf(key);
      const permitted = permittedCall(requirement, { actor, deadlineMs, requestId, expected, repeatName });
      const answer = await answered(method, { key, answerOnce, deadlineMs }, () =>
        shown(method, handler, { call: permitted, request: create(method.input, request) }),
      );
      onAnswer?.(answer);
      return answer.message;
    };
    return [method.localName, call];
  });
  // The descriptor gives both the functions and, through RpcClient, their types; the compiler cannot see the link.
  return Object.fromEntries(methods) as RpcClient<S>;
}
