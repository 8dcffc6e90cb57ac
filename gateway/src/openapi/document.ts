import { standardOf } from "@tidings/rpc/standard";
import { resources } from "../resources.ts";
import { KEY_LENGTH_MAX } from "../rest/idempotency-key.ts";
import type { NestedForm } from "../rest/message-json.ts";
import { LIST_PARAMETERS, type QueryParameter } from "../route/query-form.ts";
import { type Right, rightOf } from "../route/right.ts";
import { type Route, withAliases } from "../route/route.ts";
import { type Components, type Schema, TEXT } from "../route/schema.ts";
import { openComponents } from "./components.ts";
import { ERRORS, errorStatuses, MEANINGS } from "./errors.ts";
import { HEADERS, headersOfAnswer, headersOfError, headersOfNotModified } from "./headers.ts";

export interface DocumentOptions {
  version: string;
  nested: NestedForm;
}

export type Document = Record<string, unknown> & {
  paths: Record<string, Record<string, Operation>>;
  components: Record<string, unknown> & { schemas: Record<string, Schema> };
};

export interface Operation extends Record<string, unknown> {
  operationId: string;
  responses: Record<string, unknown>;
}

/** Describes the API as OpenAPI 3.1 has it (https://spec.openapis.org/oas/v3.1.1): of each route what its row says. */
export function documentOf(routes: Route[], { version, nested }: DocumentOptions): Document {
  const { components, schemas } = openComponents(nested);
  const paths: Document["paths"] = {};
  for (const route of routes.flatMap(withAliases)) {
    const path = templateOf(route.path);
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(route, components) };
  }
  const tags = [
    ...new Set(Object.values(paths).flatMap((methods) => Object.values(methods).flatMap(tagsOf))),
  ];
  return {
    openapi: "3.1.1",
    info: {
      title: "Tidings",
      version,
      summary: "Marketing automation: contacts, segments, campaigns and content behind one REST API",
      description: DESCRIPTION,
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: "/", description: "Where this description is" }],
    security: [{ basic: [] }, { bearer: [] }],
    tags: tags.map((name) => ({ name, description: `Operations of ${name}` })),
    paths,
    components: {
      schemas: { ...sorted(schemas), Errors: ERRORS },
      responses: {
        NotModified: {
          description: "The caller has these bytes already",
          headers: headersOfNotModified(),
        },
        ...Object.fromEntries(
          Object.entries(MEANINGS).map(([status, text]) => [`E${status}`, errorOf(status, text)]),
        ),
      },
      parameters: {
        ...Object.fromEntries(
          LIST_PARAMETERS.map((parameter) => [keyOf(parameter), queryParameter(parameter)]),
        ),
        ...HEADER_PARAMETERS,
      },
      headers: HEADERS,
      securitySchemes: {
        basic: {
          type: "http",
          scheme: "basic",
          description: "User name and password, where the operator allows it",
        },
        bearer: {
          type: "http",
          scheme: "bearer",
          description: "An access token of OAuth 2.0 (`/oauth/v2/token`)",
        },
      },
    },
  };
}

/** The path of a route as OpenAPI writes it: `/api/contacts/{id}`. */
export function templateOf(path: string): string {
  return `/api${path === "/" ? "" : path}`.replace(/:(\w+)/g, "{$1}");
}

const DESCRIPTION =
  `Bodies are JSON, or forms with bracket names. Members that mean nothing are ignored and named in
\`Tidings-Ignored\`. A POST may stand for another method (\`X-HTTP-Method-Override\`, \`_method\`). Lists leave members out where
\`select[]\` names others. Dates are ISO 8601 in UTC. A path that has no such method answers 405 with \`Allow\`.`.replaceAll(
    "\n",
    " ",
  );

const HEADER_PARAMETERS = {
  IdempotencyKey: {
    name: "Idempotency-Key",
    in: "header",
    description:
      "Made up by the caller for this request alone. Sent again with the same path, query and body within a day, it gets the same answer and changes nothing",
    schema: { type: "string", minLength: 1, maxLength: KEY_LENGTH_MAX },
    example: "8e03978e-40d5-43dd-bc93-6894a57f9324",
  },
  IfMatch: {
    name: "If-Match",
    in: "header",
    description:
      "Tags of the first entity of the path, or *: 412 when somebody changed it since. An item of a batch has a member of this name",
    schema: TEXT,
    example: '"7.ukl0fT1fYtqyMYJ6m1TIeg"',
  },
  IfNoneMatch: {
    name: "If-None-Match",
    in: "header",
    description: "Tags of answers that the caller has: 304 when the answer would be one of them",
    schema: TEXT,
    example: '"7.ukl0fT1fYtqyMYJ6m1TIeg"',
  },
};

const NOT_MODIFIED = { $ref: "#/components/responses/NotModified" };

function operationOf(route: Route, components: Components): Operation {
  const { operation, summary, answer, alias, right, method, errors = [] } = route;
  const body = route.body.describe(components);
  const hasParameters = Object.keys(route.parameters).length > 0;
  const answers = answer.statuses.map((status) => [String(status), answerOf(route, status, components)]);
  const refused = errorStatuses({ method, hasParameters, hasBody: body !== undefined, own: errors });
  return {
    operationId: operation,
    summary,
    tags: [tagOf(route)],
    ...(right && { description: neededRight(right) }),
    ...permissionsOf(route),
    ...(alias && { deprecated: true }),
    parameters: parametersOf(route),
    ...(body && { requestBody: requestBodyOf(route, body) }),
    responses: {
      ...Object.fromEntries(answers),
      ...(method === "GET" && answer.contentType === undefined && { 304: NOT_MODIFIED }),
      ...Object.fromEntries(
        refused.map((status) => [String(status), { $ref: `#/components/responses/E${status}` }]),
      ),
    },
  };
}

function neededRight({ base, verb, orElse }: Right): string {
  return `Needs the right \`${base}:${verb}\`${orElse === undefined ? "" : `, or ${orElse}`}.`;
}

/** The permissions that guard entities, by the path of their resource. Of categories the bundle decides. */
const BASES = new Map(resources.map(({ path, service }) => [path, rightOf(standardOf(service).get)?.base]));

/** For programs: the rights that a call needs, with the parameters of the path whose entities they are about. */
function permissionsOf({ right, parameters }: Route) {
  const needed = right && `${right.base}:${right.verb}`;
  const ofEntities = Object.entries(parameters).flatMap(([parameter, { entity }]) => {
    const base = entity && BASES.get(entity.resource);
    return base ? [{ permission: `${base}:${entity.verb}`, parameter }] : [];
  });
  const isSaid = ofEntities.some(({ permission }) => permission === needed);
  const own =
    needed && !isSaid ? [{ permission: needed, ...(right.orElse && { orElse: right.orElse }) }] : [];
  const all = [...own, ...ofEntities];
  return all.length > 0 && { "x-permissions": all };
}

function parametersOf({ method, parameters, query, isWrite }: Route): object[] {
  const inPath = Object.entries(parameters).map(([name, { description, schema }]) => ({
    name,
    in: "path",
    required: true,
    description,
    schema,
  }));
  const inQuery = query.parameters.map((parameter) =>
    LIST_PARAMETERS.includes(parameter)
      ? { $ref: `#/components/parameters/${keyOf(parameter)}` }
      : queryParameter(parameter),
  );
  const hasEntity = Object.values(parameters).some(({ entity }) => entity !== undefined);
  const names = [
    ...(isWrite ? ["IdempotencyKey"] : []),
    ...(isWrite && hasEntity ? ["IfMatch"] : []),
    ...(method === "GET" ? ["IfNoneMatch"] : []),
  ];
  const inHeaders = names.map((name) => ({ $ref: `#/components/parameters/${name}` }));
  return [...inPath, ...inQuery, ...inHeaders];
}

function queryParameter({ style, ...parameter }: QueryParameter) {
  return { ...parameter, in: "query", ...(style && { style, explode: true }) };
}

/** Names of components have no brackets. */
function keyOf({ name }: QueryParameter): string {
  return name.replace("[]", "");
}

function requestBodyOf({ body: { isUpload, isOptional } }: Route, schema: Schema) {
  const { examples, ...plain } = schema;
  const [example] = (examples ?? []) as unknown[];
  const content = { schema: plain, ...(example !== undefined && { example }) };
  const types = isUpload ? ["multipart/form-data"] : ["application/json"];
  return {
    required: !isOptional && (isUpload === true || "required" in schema),
    content: Object.fromEntries(types.map((type) => [type, content])),
  };
}

function answerOf(route: Route, status: number, components: Components) {
  const { contentType = "application/json" } = route.answer;
  return {
    description: status === 201 ? "Made" : "Done",
    headers: headersOfAnswer(route, status),
    content: { [contentType]: { schema: route.answer.describe(components) } },
  };
}

function errorOf(status: string, description: string) {
  return {
    description,
    headers: headersOfError(status),
    content: { "application/json": { schema: { $ref: "#/components/schemas/Errors" } } },
  };
}

/** The resource that a path begins with; the longest where one begins another. */
export function tagOf({ path }: Pick<Route, "path">): string {
  const own = resources
    .map((resource) => resource.path)
    .filter((resource) => path === `/${resource}` || path.startsWith(`/${resource}/`))
    .toSorted((one, other) => other.length - one.length);
  const [, word = ""] = path.split("/");
  return own[0] ?? (/^\w+$/.test(word) ? word : "api");
}

function tagsOf({ tags }: Operation): string[] {
  return tags as string[];
}

function sorted(schemas: Record<string, Schema>): Record<string, Schema> {
  return Object.fromEntries(Object.entries(schemas).toSorted(([one], [other]) => (one < other ? -1 : 1)));
}
