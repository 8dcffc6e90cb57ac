import { check } from "k6";
import http, { type RequestBody, type Response } from "k6/http";

/** An answer that is not the one that was expected, which a check has counted: the iteration has nothing to go on with. */
export class Unexpected extends Error {
  override name = "Unexpected";
}

export interface Exchange {
  /** Method and path as they are named in results, with `:id` for what differs. */
  endpoint: string;
  url: string;
  body?: RequestBody | null;
  headers?: Record<string, string>;
  /** 200 when absent. */
  status?: number;
  /** Beside the name, which is the endpoint unless it is among them. */
  tags?: Record<string, string>;
}

const TIMEOUT = "30s";
const REASON_LENGTH = 400;

/** Sends a request, by the method that its endpoint begins with. Throws Unexpected when the status is another one. */
export function exchange({ endpoint, url, body = null, headers = {}, ...rest }: Exchange): Response {
  const { status = 200, tags = {} } = rest;
  const [method = "GET"] = endpoint.split(" ");
  const response = http.request(method, url, body, {
    headers,
    tags: { name: endpoint, ...tags },
    responseCallback: http.expectedStatuses(status),
    timeout: TIMEOUT,
    // A tracked link leads to somebody else.
    redirects: 0,
  });
  return expected(endpoint, response, status);
}

/** Counts whether the answer is the one that was expected. Throws Unexpected when it is not. */
export function expected(endpoint: string, response: Response, status = 200): Response {
  const isExpected = check(response, {
    [`${endpoint} answers ${status}`]: (answer) => answer.status === status,
  });
  if (!isExpected)
    throw new Unexpected(`${endpoint}: ${response.status} ${response.error || reasonIn(response)}`);
  return response;
}

/** The reason in an answer of the API; a page gives programs none. */
function reasonIn({ body }: Response): string {
  return typeof body === "string" && !body.startsWith("<") ? body.slice(0, REASON_LENGTH) : "";
}
