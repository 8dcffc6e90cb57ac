import { Code, Fault } from "@tidings/rpc/fault";
import { type NextFunction, type Request, type Response, Router } from "express";
import { type AuthenticationOptions, authenticate, recognise } from "./auth/authenticate.ts";
import { sentCredential, withoutToken } from "./auth/sent-credential.ts";
import type { ClientIp } from "./client-ip.ts";
import type { Clients } from "./clients.ts";
import type { ApiRateLimits } from "./limits/api-limits.ts";
import { consume } from "./limits/rate-limit.ts";
import type { Shedding } from "./limits/shedding.ts";
import { resources } from "./resources.ts";
import { type ApiLimits, crudRouter } from "./rest/crud.ts";
import { readEarlyForm } from "./rest/early-form.ts";
import { queryOf } from "./rest/query.ts";
import { standardMethods } from "./rest/standard-methods.ts";
import { companyRoutes } from "./routes/companies.ts";
import { contactListRoutes } from "./routes/contact-lists.ts";
import { contactRoutes } from "./routes/contacts.ts";
import { hookRoutes } from "./routes/hooks.ts";
import { ownerRoutes } from "./routes/owners.ts";
import { contactSegmentRoutes, segmentRoutes } from "./routes/segments.ts";
import { userRoutes } from "./routes/users.ts";

export interface ApiOptions {
  isEnabled: boolean;
  authentication: AuthenticationOptions;
  clientIp: ClientIp;
  clients: Clients;
  limits: ApiLimits;
  rates: ApiRateLimits;
  shedding: Shedding;
}

type Step = (request: Request, response: Response, next: NextFunction) => Promise<void> | void;

/** Everything below /api: switch, load, identity, rate, input, and then the routes. */
export function apiRouter(options: ApiOptions): Router {
  const router = Router({ caseSensitive: true });
  router.use(requireEnabled(options.isEnabled));
  router.use(shedLoad(options.shedding));
  router.use(identify(options));
  router.use("/companies", companyRoutes(options.clients.companies));
  router.use("/contacts", contactRoutes(options.clients.contacts));
  router.use("/contacts", contactListRoutes(options.clients, options.limits));
  router.use("/contacts", contactSegmentRoutes(options.clients.segments));
  router.use("/segments", segmentRoutes(options.clients.segments, options.limits.batchMax));
  router.use("/hooks", hookRoutes(options.clients.webhooks));
  router.use("/contacts", ownerRoutes(options.clients.users, options.limits));
  router.use("/users", userRoutes(options.clients.users, options.limits));
  for (const resource of resources) {
    const methods = standardMethods(resource.service, options.clients.of(resource.service));
    router.use(`/${resource.path}`, crudRouter(resource, methods, options.limits));
  }
  return router;
}

export function requireEnabled(isEnabled: boolean): Step {
  return (_request, _response, next) => {
    if (isEnabled) return next();
    const message =
      "API disabled. You need to enable the API in the API settings of Tidings's Configuration.";
    throw new Fault({ code: Code.PERMISSION_DENIED, reason: "API_DISABLED", message });
  };
}

export function shedLoad(shedding: Shedding): Step {
  return (request, response, next) => {
    shedding.admit(request.method === "GET");
    response.once("close", shedding.leave);
    next();
  };
}

/**
 * Finds out who asks. Whoever was not recognised a moment ago counts against its address first, whatever it sent: made-up
 * credentials cost more than none.
 */
function identify({ authentication, clientIp, rates }: ApiOptions): Step {
  return async (request, response, next) => {
    const { method, headers } = request;
    const query = queryOf(request.url);
    const form = await readEarlyForm(request);
    const sent = sentCredential({ method, authorization: headers.authorization, query, form });
    const attempt = () => {
      const ip = clientIp(request);
      return { clientIp: ip, count: () => consume(rates.anonymous, ip, response) };
    };
    const actor = recognise(sent, authentication) ?? (await authenticate(sent, attempt(), authentication));
    if (rates.principal) await consume(rates.principal, `${actor.kind}:${actor.id ?? actor.name}`, response);
    const requestId = String(response.getHeader("x-request-id"));
    response.locals.exchange = {
      requestId,
      actor,
      query: withoutToken(query),
      form: withoutToken(form),
      body: {},
      route: undefined,
    };
    next();
  };
}
