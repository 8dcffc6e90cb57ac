import { Code, Fault, notFound } from "@tidings/rpc/fault";
import { type NextFunction, type Request, type Response, Router } from "express";
import { type AuthenticationOptions, authenticate, recognise } from "./auth/authenticate.ts";
import { sentCredential, withoutToken } from "./auth/sent-credential.ts";
import type { ClientIp } from "./client-ip.ts";
import { DESCRIPTION_PATH, describedApi } from "./described-api.ts";
import { addressKey } from "./limits/address-key.ts";
import type { ApiRateLimits } from "./limits/api-limits.ts";
import { type Arrivals, waitAs } from "./limits/arrivals.ts";
import { consume } from "./limits/rate-limit.ts";
import type { Shedding } from "./limits/shedding.ts";
import type { Document } from "./openapi/document.ts";
import { isForm, readTokenForm } from "./rest/body.ts";
import { type ApiResponse, sendTagged, tagged } from "./rest/exchange.ts";
import { principalOf } from "./rest/idempotency-key.ts";
import { queryOf } from "./rest/query.ts";
import { foreignOrigin, isSameOrigin } from "./rest/same-origin.ts";
import { dispatch } from "./route/dispatch.ts";
import type { RoutesContext } from "./routes/routes-context.ts";

export interface LoadOptions {
  shedding: Shedding;
  arrivals: Arrivals;
  clientIp: ClientIp;
}

export interface ApiOptions extends LoadOptions, RoutesContext {
  isEnabled: boolean;
  authentication: AuthenticationOptions;
  rates: ApiRateLimits;
  /** Where browsers find this service, if that is configured. */
  apiOrigin: string | undefined;
}

type Step = (request: Request, response: Response, next: NextFunction) => Promise<void> | void;

/** Everything below /api: switch, load, identity, rate, input, and then the routes. */
export function apiRouter(options: ApiOptions): Router {
  const router = Router({ caseSensitive: true });
  router.use(requireEnabled(options.isEnabled));
  router.use(shedLoad(options));
  router.use(refuseForeignWrites(options.apiOrigin));
  const { routes, document } = describedApi(options);
  router.use(describeToAnyone(document, options));
  router.use(identify(options));
  router.use(dispatch(routes, options.rates.keys));
  router.use(() => {
    throw notFound("The API has nothing at this path. GET /api names what it has.");
  });
  return router;
}

/** Callers who are not signed in get the description that is the same everywhere. They count against their address. */
function describeToAnyone(document: Document, { clientIp, rates }: ApiOptions): Step {
  const general = tagged(JSON.stringify(document));
  return async (request, response, next) => {
    const { method, path, url, headers } = request;
    const isAsked = path === DESCRIPTION_PATH && (method === "GET" || method === "HEAD");
    if (!isAsked || headers.authorization !== undefined || url.includes("access_token")) return next();
    await consume(rates.anonymous, addressKey(clientIp(request)), response);
    sendTagged(response as ApiResponse, general);
  };
}

export function requireEnabled(isEnabled: boolean): Step {
  return (_request, _response, next) => {
    if (isEnabled) return next();
    const message =
      "API disabled. You need to enable the API in the API settings of Tidings's Configuration.";
    throw new Fault({ code: Code.PERMISSION_DENIED, reason: "API_DISABLED", message });
  };
}

/**
 * A browser sends the Basic credentials it knows with the forms of any site, so what another site sends changes nothing
 * here. Programs send neither of these headers.
 */
function refuseForeignWrites(apiOrigin: string | undefined): Step {
  return (request, _response, next) => {
    const isRead = request.method === "GET" || request.method === "HEAD";
    if (!isRead && !isSameOrigin(request, apiOrigin, ["same-origin", "none"])) throw foreignOrigin();
    next();
  };
}

/** Refuses requests above the limits at once. A request whose body is still arriving counts as an arrival, not as work. */
export function shedLoad({ shedding, arrivals, clientIp }: LoadOptions): Step {
  return (request, response, next) => {
    const rank = request.method === "GET" ? "read" : "write";
    let isWork = false;
    const resume = () => {
      if (isWork || response.closed) return;
      shedding.admit(rank);
      isWork = true;
    };
    const pause = () => {
      if (isWork) shedding.leave();
      isWork = false;
    };
    resume();
    // An answer that is on its way to a slow reader is no work: it is over when all of it was written.
    response.once("prefinish", pause).once("close", pause);
    let address: string | undefined;
    waitAs(request, {
      arrivals,
      // Asked by the few that are late. No accessor: V8 would make a hidden class of each, and keep it with its request (ADR 37).
      address: () => {
        address ??= addressKey(clientIp(request));
        return address;
      },
      pause,
      resume,
    });
    next();
  };
}

/** So long it may take to find out who asks: a database that is silent is noticed a second later. */
const IDENTIFY_MS = 4_000;

/**
 * Identifies the caller. A caller that was not recognised a moment ago counts against its address first, whatever it sent: made-up
 * credentials cost more than none.
 */
function identify({ authentication, clientIp, rates }: ApiOptions): Step {
  return async (request, response, next) => {
    const beganAt = Date.now();
    const { method, headers } = request;
    const { authorization } = headers;
    const query = queryOf(request.url);
    const attempt = () => {
      const ip = clientIp(request);
      const deadlineMs = Date.now() + IDENTIFY_MS;
      return { clientIp: ip, deadlineMs, count: () => consume(rates.anonymous, addressKey(ip), response) };
    };
    // A form is read before it is known who sends it only where a token in it may name the sender.
    const isInForm = method === "POST" && !authorization && isForm(request);
    if (isInForm) await attempt().count();
    const form = isInForm ? await readTokenForm(request) : undefined;
    const sent = sentCredential({ method, authorization, query, form });
    const actor = recognise(sent, authentication) ?? (await authenticate(sent, attempt(), authentication));
    if (isInForm) await rates.anonymous.reward(addressKey(clientIp(request)), 1);
    if (rates.principal) await consume(rates.principal, principalOf(actor), response);
    const requestId = String(response.getHeader("x-request-id"));
    response.locals.exchange = {
      requestId,
      identifiedInMs: form === undefined ? Date.now() - beganAt : 0,
      actor,
      query: withoutToken(query),
      form: withoutToken(form),
      body: {},
      route: undefined,
    };
    next();
  };
}
