import { assertDescribed } from "./openapi/described.ts";

/** The members of a body that tests look at; the request decides which are there. */
export interface Body {
  contact: Contact;
  contacts: Record<string, Contact>;
  hook: Entity;
  hooks: Record<string, Entity>;
  triggers: Record<string, { label: string; description: string }>;
  total: string | number;
  success: boolean;
  errors: ApiError[];
}

export interface Entity extends Record<string, unknown> {
  id: number;
}

export interface Contact extends Entity {
  points: number;
  tags: { tag: string }[];
  ipAddresses: Record<string, { ipAddress: string }>;
  fields: Record<"core" | "social" | "personal" | "professional", Record<string, { value: unknown }>> & {
    all: Record<string, unknown>;
  };
}

export interface ApiError {
  code: number;
  message: string;
  details?: Record<string, string[]>;
  type?: string | null;
}

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  body: Body;
}

export type RequestBody = object | string | URLSearchParams | undefined;

/** Sends a request to a path below `/api/`. An object goes as JSON, a string as it is. */
export type Client = (
  method: string,
  path: string,
  body?: RequestBody,
  headers?: Record<string, string>,
) => Promise<Answer>;

/** A client of the REST API with Basic authentication; without a login it is anonymous. */
export function createClient(baseUrl: string, login?: { username: string; password: string }): Client {
  const credentials = login && Buffer.from(`${login.username}:${login.password}`).toString("base64");
  return (method, path, body, headers = {}) =>
    fetchApi(baseUrl, {
      method,
      path,
      body,
      headers: { ...(credentials && { authorization: `Basic ${credentials}` }), ...headers },
    });
}

export interface ApiRequest {
  method?: string;
  /** Below `/api/`. */
  path: string;
  body?: RequestBody;
  headers?: Record<string, string>;
  /** Ends the exchange from the caller's side. */
  signal?: AbortSignal;
}

/** Sends a request to the API and holds the exchange against its description. An answer that is no JSON has bytes. */
export async function fetchApi(
  baseUrl: string,
  { method = "GET", path, body, headers = {}, signal }: ApiRequest,
): Promise<Answer & { bytes: Buffer }> {
  const response = await fetch(`${baseUrl}/api/${path}`, {
    method,
    redirect: "manual",
    headers: {
      ...(body !== undefined && !(body instanceof URLSearchParams) && { "content-type": "application/json" }),
      ...headers,
    },
    ...(body !== undefined && { body: encoded(body) }),
    ...(signal && { signal }),
  });
  const bytes = Buffer.from(await response.arrayBuffer());
  const { status, headers: answered } = response;
  const text = bytes.toString();
  const override = overrideOf(path, body, headers);
  assertDescribed({ method, path: `/api/${path}`, override, status, headers: answered, text });
  const isJson = answered.get("content-type") === "application/json" && text !== "";
  return { status, headers: answered, text, bytes, body: isJson ? JSON.parse(text) : {} };
}

/** The method that a POST says it stands for. */
function overrideOf(path: string, body: RequestBody, headers: Record<string, string>): string | undefined {
  const inBody =
    body instanceof URLSearchParams ? body.get("_method") : (body as { _method?: unknown })?._method;
  const inQuery = new URL(path, "http://localhost").searchParams.get("_method");
  const sent = headers["x-http-method-override"] ?? inBody ?? inQuery;
  return typeof sent === "string" ? sent : undefined;
}

function encoded(body: object | string | URLSearchParams): string | URLSearchParams {
  return typeof body === "string" || body instanceof URLSearchParams ? body : JSON.stringify(body);
}

/** The ids a list is keyed by, in the order of the text: an object would sort them. */
export function idsInOrder({ text }: Answer): number[] {
  return [...text.matchAll(/[{,]"(\d+)":\{/g)].map(([, id]) => Number(id));
}
