import type { IncomingMessage } from "node:http";
import { badRequest } from "@tidings/rpc/fault";
import { readBody } from "./body.ts";

const WAIT_MS = 10_000;
const FORM = /^application\/x-www-form-urlencoded\s*(;|$)/i;

/**
 * The body of a POST if it is a form, which may hold an access token; else undefined. It is read before it is known who
 * sends it, so it has to arrive soon.
 */
export async function readEarlyForm(request: IncomingMessage): Promise<unknown> {
  if (request.method !== "POST" || !FORM.test(request.headers["content-type"] ?? "")) return undefined;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(badRequest("The form took too long to arrive.")), WAIT_MS);
  });
  return Promise.race([readBody(request, false), late]).finally(() => clearTimeout(timer));
}
