import assert from "node:assert/strict";

/** A person with a browser, as far as cookies go. */
export type Session = (
  path: string,
  sent?: { method?: string; headers?: Record<string, string>; body?: string },
) => Promise<Response>;

const SIGN_IN = "/oauth/v2/authorize_login";

/** Signs in on the page for that. */
export async function openSession(
  baseUrl: string,
  { username, password }: { username: string; password: string },
): Promise<Session> {
  const opened = await fetch(`${baseUrl}${SIGN_IN}`);
  const csrf = /name="csrf" value="([^"]+)"/.exec(await opened.text())?.[1] ?? "";
  const signedIn = await fetch(`${baseUrl}${SIGN_IN}_check`, {
    method: "POST",
    redirect: "manual",
    headers: { cookie: cookieOf(opened), origin: baseUrl },
    body: new URLSearchParams({ csrf, next: "", _username: username, _password: password }),
  });
  assert.equal(signedIn.status, 303, await signedIn.text());
  const cookie = cookieOf(signedIn);
  return (path, { headers = {}, ...sent } = {}) =>
    fetch(`${baseUrl}${path}`, { redirect: "manual", ...sent, headers: { ...headers, cookie } });
}

function cookieOf(response: Response): string {
  return response.headers.getSetCookie()[0]?.split(";")[0] ?? "";
}
