import type { DescMessage, Message } from "@bufbuild/protobuf";
import { messageAnswer } from "../route/answer.ts";
import { entityId } from "../route/parameter.ts";
import { type Route, route } from "../route/route.ts";
import type { Method } from "./broadcasts.ts";

interface Answered extends Method<{ id: number }, Message> {
  schema: DescMessage;
}

/** Routes of A/B tests: how a test stands, and its end. */
export function variantTestRoutes(
  one: "email" | "page",
  { words, test, winner }: { words: string; test: Answered; winner: Answered },
): Route[] {
  return [
    route({
      method: "GET",
      path: `/${one}s/:id/test`,
      summary: `Get how the A/B test of ${words} stands`,
      rpc: test.rpc,
      parameters: { id: entityId(`${one}s`, "view") },
      answer: messageAnswer("test", test.schema),
      handle: ({ parameters, options }) => test.call(parameters, options),
    }),
    route({
      method: "POST",
      path: `/${one}s/:id/winner`,
      summary: `Make a variant of ${words} the winner of its A/B test`,
      rpc: winner.rpc,
      parameters: { id: entityId(`${one}s`, "edit") },
      answer: messageAnswer(one, winner.schema),
      handle: ({ parameters, options }) => winner.call(parameters, options),
    }),
  ];
}
