import type { Request, Response, Router } from "express";
import { inHttpSpan } from "./http-span.ts";
import { methodNotAllowed } from "./rest/error.ts";

export type PlaceHandler = (request: Request, response: Response) => Promise<void>;

/**
 * Puts handlers in their place on a path outside the API. A HEAD is a GET whose body Node leaves out; a method without a
 * handler is 405 with `Allow`.
 */
export function place(
  router: Router,
  path: string,
  handlers: Partial<Record<"GET" | "POST", PlaceHandler>>,
): void {
  router.all(path, async (request: Request, response: Response) => {
    const route = `${request.baseUrl}${path}`;
    response.locals.route = route;
    const method = request.method === "HEAD" ? "GET" : request.method;
    const handler = handlers[method as "GET" | "POST"];
    if (!handler) {
      response.setHeader("allow", Object.keys(handlers).join(", "));
      throw methodNotAllowed();
    }
    await inHttpSpan({ request, response, method, route }, () => handler(request, response));
  });
}
