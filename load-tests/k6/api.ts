import exec from "k6/execution";
import type { RequestBody } from "k6/http";
import { exchange } from "./exchange.ts";
import { PUBLIC_ENDPOINTS, type PublicEndpoint, type RouteName } from "./routes.ts";
import { settings } from "./settings.ts";
import { windowOf } from "./windows.ts";

export interface Call {
  /** The values of `:id` and its like. */
  path?: Record<string, number | string>;
  /** Encoded. */
  query?: string;
  /** Sent as JSON. */
  body?: object;
  /** Sent as it is, in place of a body. */
  form?: RequestBody;
  headers?: Record<string, string>;
  /** 200 when absent. */
  status?: number;
  /** Called with the headers of the answer. */
  heard?(headers: Record<string, string>): void;
}

/**
 * Calls an endpoint of the API, `GET /contacts/:id`, or of the public web, `POST /mtc/event`, and gives what it answers: JSON parsed, a page as
 * its text. The public web is asked as a browser does, with the cookies of this iteration and without a token. Throws Unexpected on any other status.
 */
export type Api<Endpoint extends RouteName | PublicEndpoint> = <T>(endpoint: Endpoint, call?: Call) => T;

/** A User-Agent of people: a program would be a machine to the public web, and nobody. */
const BROWSER =
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36";

export interface Entity {
  id: number;
}

/** Requests that a journey measures. */
export function measuredApi<Endpoint extends RouteName | PublicEndpoint>(token: string): Api<Endpoint> {
  return apiOf(token, () => ({ window: windowOf(exec.scenario) }));
}

/** Requests before a journey and after it: counted under one name, so that no threshold of a journey looks at them. */
export function preparingApi(token: string): Api<RouteName> {
  return apiOf(token, () => ({ name: "preparing" }));
}

function apiOf<Endpoint extends RouteName | PublicEndpoint>(
  token: string,
  tagsNow: () => Record<string, string>,
): Api<Endpoint> {
  return <T>(endpoint: Endpoint, { path = {}, query, body, form, headers, status, heard }: Call = {}) => {
    const [, template = ""] = endpoint.split(" ");
    const filled = template.replace(/:(\w+)/g, (_, name) => String(path[name]));
    const isPublic = (PUBLIC_ENDPOINTS as readonly string[]).includes(endpoint);
    const origin = isPublic ? settings.publicUrl : `${settings.baseUrl}/api`;
    const response = exchange({
      endpoint,
      url: `${origin}${filled}${query ? `?${query}` : ""}`,
      body: body ? JSON.stringify(body) : (form ?? null),
      headers: {
        ...(isPublic ? { "user-agent": BROWSER } : { authorization: `Bearer ${token}` }),
        ...(body && { "content-type": "application/json" }),
        ...headers,
      },
      tags: tagsNow(),
      ...(status !== undefined && { status }),
    });
    heard?.(response.headers);
    const isJson = /json/.test(response.headers["Content-Type"] ?? "");
    return (isJson ? response.json() : response.body) as T; // its shape is what the endpoint promises
  };
}
