import type { DescMessage, Message } from "@bufbuild/protobuf";
import type { ListQuery } from "@tidings/proto/tidings/type/v1/list";
import type { Outgoing } from "@tidings/rpc/client";
import type { Request } from "express";
import type { Resource } from "../resources.ts";
import type { ApiResponse } from "../rest/exchange.ts";
import { sendList } from "../rest/list.ts";
import { type ListLimits, readListParameters } from "../rest/list-query.ts";
import { messageWriter } from "../rest/message-json.ts";
import type { Listed } from "../rest/standard-methods.ts";

/** Answers a page: of all there is, or of what the path names. */
type Lister = (query: ListQuery, options: Outgoing) => Promise<Listed>;

/** A list beyond those of the resources, with the usual parameters: an array under `many`. */
export function listing(
  schema: DescMessage,
  many: string,
  limits: ListLimits,
  of: (request: Request) => Lister,
  total: Resource["total"] = "int",
) {
  const write = messageWriter(schema);
  return async (request: Request, response: ApiResponse): Promise<void> => {
    const list = of(request);
    const { query, select } = readListParameters(response.locals.exchange.query, limits);
    const shape = { many, shape: "array", total } as const;
    await sendList(response, shape, { list }, query, (item: Message) => write(item, select));
  };
}
