import type { DescMethod } from "@bufbuild/protobuf";
import type { Outgoing } from "@tidings/rpc/client";
import { isRead } from "@tidings/rpc/idempotency";
import type { Request } from "express";
import { type ApiResponse, BUDGET_MS, type Exchange, outgoing } from "../rest/exchange.ts";
import type { Answer } from "./answer.ts";
import { type BodyForm, NO_BODY } from "./body-form.ts";
import type { PathParameter } from "./parameter.ts";
import { NO_QUERY, type QueryForm } from "./query-form.ts";
import { type Right, rightOf } from "./right.ts";

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** A request as its handler gets it: read as the row says. */
export interface Call<P, Q, B> {
  parameters: P;
  query: Q;
  body: B;
  exchange: Exchange;
  /** In whose name the services are called, and until when. */
  options: Outgoing;
  request: Request;
  response: ApiResponse;
}

/** A path that older clients use for a route. */
export interface Alias {
  path: string;
  /** Since when its answers say that it is deprecated (RFC 9745). */
  since: string;
  /** When it ends (RFC 8594), once that is decided. */
  sunset?: string;
}

interface Row<P, Q, B, T> {
  method: Method;
  /** Below /api: "/contacts/:id/points/:operator/:delta". */
  path: string;
  /** One sentence without a subject: "Add a contact to a segment by hand". */
  summary: string;
  /** The RPC that it ends in: names the operation and declares the right that it needs. */
  rpc?: DescMethod;
  /** The name of the operation, unlike all others, where the RPC has more than one. */
  operation?: string;
  /** The right, where it is not that of the RPC. */
  right?: Right;
  /** In the order of the path. */
  parameters?: { [K in keyof P]: PathParameter<P[K]> };
  query?: QueryForm<Q>;
  body?: BodyForm<B>;
  /** How long it may take; that of a read for GET and of a write for others, when absent. */
  budget?: keyof typeof BUDGET_MS;
  /** It changes nothing, whatever its method. So does a route with the budget of a read. */
  isRead?: true;
  answer: Answer<T>;
  /** Statuses of errors beyond those that every route of its kind has. */
  errors?: number[];
  aliases?: Alias[];
  /** Calls that newcomers look for at this path: the path of the method that they use. */
  elsewhere?: Partial<Record<Method, string>>;
  handle(call: Call<P, Q, B>): Promise<T> | T;
}

/**
 * One operation of the API. Its row is all there is to say of it: the router, rights, OpenAPI and the tests of every route are made of
 * rows, and a handler that is in no row is nowhere.
 */
export interface Route
  extends Omit<Row<Record<string, unknown>, unknown, unknown, unknown>, "handle" | "answer" | "rpc"> {
  operation: string;
  parameters: Record<string, PathParameter<unknown>>;
  query: QueryForm<unknown>;
  body: BodyForm<unknown>;
  answer: Pick<Answer<unknown>, "statuses" | "describe" | "contentType" | "headers">;
  aliases: Alias[];
  /** The alias that this route is, and the path that it stands for. */
  alias?: Alias & { successor: string };
  /** Does it change something? Then a caller may send it again under an idempotency key. */
  isWrite: boolean;
  answerTo(request: Request, response: ApiResponse, texts: Record<string, string>): Promise<void>;
}

/** Makes a route of its row. */
export function route<P = Record<string, never>, Q = undefined, B = undefined, T = unknown>(
  row: Row<P, Q, B, T>,
): Route {
  const { rpc, operation = rpc?.localName, handle, answer, ...rest } = row;
  if (operation === undefined) throw new Error(`${row.method} ${row.path} has no name`);
  const parameters = Object.entries(row.parameters ?? {}) as [string, PathParameter<unknown>][];
  const query = (row.query ?? NO_QUERY) as QueryForm<Q>;
  const body = (row.body ?? NO_BODY) as BodyForm<B>;
  const right = row.right ?? (rpc && rightOf(rpc));
  const budgetMs = BUDGET_MS[row.budget ?? (row.method === "GET" ? "read" : "write")];
  return {
    aliases: [],
    isWrite:
      !row.isRead && (row.method === "GET" ? rpc !== undefined && !isRead(rpc) : row.budget !== "read"),
    ...rest,
    operation,
    ...(right && { right }),
    parameters: Object.fromEntries(parameters),
    query,
    body,
    answer,
    async answerTo(request, response, texts) {
      const { exchange } = response.locals;
      const read = parameters.map(([name, parameter]) => [name, parameter.read(texts[name] ?? "")]);
      const result = await handle({
        // Each member was read by the parameter of its name; the compiler cannot follow that.
        parameters: Object.fromEntries(read) as P,
        query: query.read(exchange.query),
        body: body.read(exchange),
        exchange,
        options: outgoing(exchange, budgetMs),
        request,
        response,
      });
      await answer.send(response, result);
    },
  };
}

/** The route itself, and one for each of its older paths. */
export function withAliases(route: Route): Route[] {
  const older = route.aliases.map((alias, index) => ({
    ...route,
    path: alias.path,
    operation: `${route.operation}Alias${index === 0 ? "" : index + 1}`,
    alias: { ...alias, successor: route.path },
    aliases: [],
  }));
  return [route, ...older];
}
