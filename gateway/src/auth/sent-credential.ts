import { Code, Fault } from "@tidings/rpc/fault";

/** The credential of a request; no scheme when it has none. */
export interface SentCredential {
  /** In lower case: `basic`, `bearer`, or what else was sent. */
  scheme: string;
  value: string;
}

export interface CredentialPlaces {
  method: string | undefined;
  authorization: string | undefined;
  /** Parameters by name. */
  query: Record<string, unknown>;
  /** The body of a POST, if it is a form. */
  form: unknown;
}

/** A token may come in the header, the query of a GET or the form of a POST (RFC 6750, 2), but in one of them only. */
export function sentCredential({ method, authorization, query, form }: CredentialPlaces): SentCredential {
  const inQuery = query.access_token;
  const inForm = (form as Record<string, unknown> | undefined)?.access_token;
  const sent = [authorization, inQuery, inForm].filter((value) => value !== undefined);
  if (sent.length > 1 || sent.some((value) => typeof value !== "string")) throw ambiguousCredentials();
  if (typeof inForm === "string") return { scheme: "bearer", value: inForm };
  if (typeof inQuery === "string" && isRead(method)) return { scheme: "bearer", value: inQuery };
  const [scheme = "", value = ""] = (authorization ?? "").split(" ", 2);
  return { scheme: scheme.toLowerCase(), value };
}

/** Members without the token, which is nothing that a service has to see. */
export function withoutToken<T>(members: T): T {
  if (typeof members !== "object" || members === null || !("access_token" in members)) return members;
  const { access_token: _, ...others } = members;
  return others as T;
}

function isRead(method: string | undefined): boolean {
  return method === "GET" || method === "HEAD";
}

/** A request says in one way who sends it. */
export function ambiguousCredentials(): Fault {
  const message = "Only one method may be used to authenticate at a time (Auth header, GET or POST).";
  return new Fault({ code: Code.INVALID_ARGUMENT, reason: "CREDENTIALS_AMBIGUOUS", message });
}
