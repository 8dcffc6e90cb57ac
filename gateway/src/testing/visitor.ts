export interface PageAnswer {
  status: number;
  headers: Headers;
  text: string;
  /** Where a redirect goes; empty when it is none. */
  location: string;
}

export interface Visitor {
  get(path: string): Promise<PageAnswer>;
  /** Sends a form; its hidden fields go along unless they are given: as they were on the last page that had it. */
  post(
    path: string,
    fields: Record<string, string | string[]>,
    headers?: Record<string, string>,
  ): Promise<PageAnswer>;
  signIn(username: string, password: string, next?: string): Promise<PageAnswer>;
  cookie(): string;
  setCookie(cookie: string): void;
  csrf(): string;
}

/** A browser without a screen: one cookie, no redirects followed, and the form token of the last page. */
export function visitorOf(port: number): Visitor {
  const origin = `http://127.0.0.1:${port}`;
  let cookie = "";
  let csrf = "";
  const hidden = new Map<string, Record<string, string>>();
  const send = async (path: string, init: RequestInit): Promise<PageAnswer> => {
    const headers = { ...(cookie && { cookie }), ...(init.headers as Record<string, string>) };
    const response = await fetch(`${origin}${path}`, { ...init, redirect: "manual", headers });
    const renewed = response.headers.getSetCookie()[0]?.split(";", 1)[0];
    if (renewed) cookie = renewed;
    const text = await response.text();
    csrf = /name="csrf" value="([^"]*)"/.exec(text.slice(text.indexOf("<main")))?.[1] ?? csrf;
    for (const [, action = "", fields = ""] of text.matchAll(/action="([^"]*)"[^>]*>(.*?)<\/form>/gs))
      hidden.set(action, hiddenFieldsOf(fields));
    return {
      status: response.status,
      headers: response.headers,
      text,
      location: response.headers.get("location") ?? "",
    };
  };
  const visitor: Visitor = {
    get: (path) => send(path, {}),
    post(path, fields, headers = {}) {
      const body = new URLSearchParams();
      for (const [name, value] of Object.entries({ csrf, ...hidden.get(path), ...fields }))
        for (const text of [value].flat()) body.append(name, text);
      return send(path, { method: "POST", body, headers: { origin, ...headers } });
    },
    async signIn(username, password, next = "/authorisations") {
      await visitor.get(`/oauth/v2/authorize_login?next=${encodeURIComponent(next)}`);
      const fields = { next, _username: username, _password: password };
      return visitor.post("/oauth/v2/authorize_login_check", fields);
    },
    cookie: () => cookie,
    setCookie(sent) {
      cookie = sent;
    },
    csrf: () => csrf,
  };
  return visitor;
}

function hiddenFieldsOf(form: string): Record<string, string> {
  const inputs = form.matchAll(/type="hidden" name="([^"]+)" value="([^"]*)"/g);
  return Object.fromEntries([...inputs].map(([, name, value]) => [name, value]));
}
