import exec from "k6/execution";
import type { RequestBody } from "k6/http";
import { exchange } from "./exchange.ts";
import type { RouteName } from "./routes.ts";
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

/** Calls an endpoint of the API, `GET /contacts/:id`, and gives what it answers. Throws Unexpected on any other status. */
export type Api<Endpoint extends RouteName> = <T>(endpoint: Endpoint, call?: Call) => T;

export interface Entity {
  id: number;
}

/** Requests that a journey measures. */
export function measuredApi<Endpoint extends RouteName>(token: string): Api<Endpoint> {
  return apiOf(token, () => ({ window: windowOf(exec.scenario) }));
}

/** Requests before a journey and after it: counted under one name, so that no threshold of a journey looks at them. */
export function preparingApi(token: string): Api<RouteName> {
  return apiOf(token, () => ({ name: "preparing" }));
}

function apiOf<Endpoint extends RouteName>(
  token: string,
  tagsNow: () => Record<string, string>,
): Api<Endpoint> {
  return <T>(endpoint: Endpoint, { path = {}, query, body, form, headers, status, heard }: Call = {}) => {
    const [, template = ""] = endpoint.split(" ");
    const filled = template.replace(/:(\w+)/g, (_, name) => String(path[name]));
    const response = exchange({
      endpoint,
      url: `${settings.baseUrl}/api${filled}${query ? `?${query}` : ""}`,
      body: body ? JSON.stringify(body) : (form ?? null),
      headers: {
        authorization: `Bearer ${token}`,
        ...(body && { "content-type": "application/json" }),
        ...headers,
      },
      tags: tagsNow(),
      ...(status !== undefined && { status }),
    });
    heard?.(response.headers);
    return response.json() as T; // its shape is what the API promises of the endpoint
  };
}
