import type { Request } from "express";
import { readBody, SMALL } from "../rest/body.ts";
import { queryOf } from "../rest/query.ts";
import { OAuthError } from "./oauth-error.ts";

/** The parameters of a request to one of the endpoints, all of them texts that were sent once (RFC 6749, 3.2). */
export interface Parameters {
  /** Undefined when absent or empty, which is the same (RFC 6749, 3.2). */
  text(name: string): string | undefined;
}

/** From the body of a POST, as a form or as JSON, or from the query of a GET. Secrets are not taken from a query. */
export async function readParameters(request: Request): Promise<Parameters> {
  const query = queryOf(request.url);
  if (query.client_secret !== undefined)
    throw new OAuthError("invalid_request", "The client secret must not be sent in the query");
  return parametersOf(request.method === "POST" ? await readBody(request, SMALL) : query);
}

export function parametersOf(values: unknown): Parameters {
  if (typeof values !== "object" || values === null || Array.isArray(values))
    throw new OAuthError("invalid_request", "The parameters must be the members of an object");
  const members = new Map(Object.entries(values));
  return {
    text(name) {
      const value = members.get(name) ?? "";
      if (typeof value !== "string")
        throw new OAuthError("invalid_request", `The parameter "${name}" must be sent once, as a text`);
      return value || undefined;
    },
  };
}
