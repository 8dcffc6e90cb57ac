import http, { type Response } from "k6/http";
import { expected } from "./exchange.ts";
import { settings } from "./settings.ts";

const SIGN_IN = "/oauth/v2/authorize_login";

/** Signs in as the administrator, unless this user has: the cookie is the user's until the iteration ends. */
export function signIn(tags: Record<string, string> = {}): void {
  const url = `${settings.baseUrl}${SIGN_IN}?next=%2Fauthorisations`;
  const name = `GET ${SIGN_IN}`;
  const page = http.get(url, { redirects: 0, tags: { name, ...tags } });
  if (page.status === 303) return;
  const fields = { _username: settings.username, _password: settings.password };
  submit(expected(name, page), { action: `${SIGN_IN}_check`, fields, tags });
}

export function openPage(path: string, tags: Record<string, string> = {}): Response {
  const name = `GET ${path}`;
  const response = http.get(`${settings.baseUrl}${path}`, { redirects: 0, tags: { name, ...tags } });
  return expected(name, response);
}

export interface Submission {
  /** The address that the form is sent to. */
  action: string;
  /** Beside those that are on the page. */
  fields?: Record<string, string | string[]>;
  /** 303 when absent. */
  status?: number;
  tags?: Record<string, string>;
}

/** Sends a form of a page with what it hides; gives the answer, redirects not followed. */
export function submit(page: Response, { action, fields = {}, status = 303, tags }: Submission): Response {
  const name = `POST ${action.split("?")[0]}`;
  const hidden = page.html().find(`form[action="${action}"] input[type="hidden"]`).toArray();
  const sent = Object.fromEntries(
    hidden.map((input) => [input.attr("name") ?? "", input.attr("value") ?? ""]),
  );
  const body = encoded({ ...sent, ...fields });
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  const response = http.post(`${settings.baseUrl}${action}`, body, {
    headers,
    redirects: 0,
    tags: { name, ...tags },
  });
  return expected(name, response, status);
}

function encoded(fields: Record<string, string | string[]>): string {
  const pairs = Object.entries(fields).flatMap(([name, values]) =>
    [values].flat().map((value) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`),
  );
  return pairs.join("&");
}
