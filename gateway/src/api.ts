import { StageService } from "@tidings/proto/tidings/campaign/v1/stage_service";
import { CompanyMethodService } from "@tidings/proto/tidings/contact/v1/company";
import { ContactMethodService } from "@tidings/proto/tidings/contact/v1/contact";
import { SegmentMethodService } from "@tidings/proto/tidings/contact/v1/segment";
import { FileService } from "@tidings/proto/tidings/content/v1/file";
import { FocusMethodService } from "@tidings/proto/tidings/content/v1/focus_item";
import { ThemeService } from "@tidings/proto/tidings/content/v1/theme";
import { UserMethodService } from "@tidings/proto/tidings/identity/v1/user";
import { AuditEntryService } from "@tidings/proto/tidings/reporting/v1/audit_entry";
import { TriggerService } from "@tidings/proto/tidings/webhook/v1/trigger";
import { Code, Fault, notFound } from "@tidings/rpc/fault";
import { type NextFunction, type Request, type Response, Router } from "express";
import { type AuthenticationOptions, authenticate, recognise } from "./auth/authenticate.ts";
import { sentCredential, withoutToken } from "./auth/sent-credential.ts";
import type { ClientIp } from "./client-ip.ts";
import type { Clients } from "./clients.ts";
import { addressKey } from "./limits/address-key.ts";
import type { ApiRateLimits } from "./limits/api-limits.ts";
import { type Arrivals, waitAs } from "./limits/arrivals.ts";
import { consume } from "./limits/rate-limit.ts";
import type { Shedding } from "./limits/shedding.ts";
import { resources } from "./resources.ts";
import { isForm, readTokenForm } from "./rest/body.ts";
import { type ApiLimits, crudRouter } from "./rest/crud.ts";
import { endpoint } from "./rest/endpoint.ts";
import { type ApiResponse, sendJson } from "./rest/exchange.ts";
import type { NestedForm } from "./rest/message-json.ts";
import { queryOf } from "./rest/query.ts";
import { foreignOrigin, isSameOrigin } from "./rest/same-origin.ts";
import { standardMethods } from "./rest/standard-methods.ts";
import { auditRoutes } from "./routes/audit.ts";
import { campaignRoutes, contactCampaignRoutes } from "./routes/campaigns.ts";
import { companyRoutes } from "./routes/companies.ts";
import { contactListRoutes } from "./routes/contact-lists.ts";
import { contactRoutes } from "./routes/contacts.ts";
import { fileRoutes } from "./routes/files.ts";
import { focusRoutes } from "./routes/focus.ts";
import { formRoutes } from "./routes/forms.ts";
import { hookRoutes } from "./routes/hooks.ts";
import { ownerRoutes } from "./routes/owners.ts";
import { pointRoutes } from "./routes/points.ts";
import { contactSegmentRoutes, segmentRoutes } from "./routes/segments.ts";
import { stageRoutes } from "./routes/stages.ts";
import { themeRoutes } from "./routes/themes.ts";
import { userRoutes } from "./routes/users.ts";
import type { Transfer } from "./transfer.ts";

export interface LoadOptions {
  shedding: Shedding;
  arrivals: Arrivals;
  clientIp: ClientIp;
}

export interface ApiOptions extends LoadOptions {
  isEnabled: boolean;
  authentication: AuthenticationOptions;
  clients: Clients;
  transfer: Transfer;
  limits: ApiLimits;
  nested: NestedForm;
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
  router.use(identify(options));
  const { clients, limits, nested } = options;
  const { places, put } = byFirstWord();
  for (const resource of resources) {
    const methods = standardMethods(resource.service, clients.of(resource.service));
    put(resource.path, crudRouter(resource, methods, limits, nested));
  }
  put("campaigns", campaignRoutes(clients, limits, nested));
  put("companies", companyRoutes(clients.of(CompanyMethodService)));
  put("contacts", contactRoutes(clients));
  put("contacts", contactListRoutes(clients, limits));
  put("contacts", contactSegmentRoutes(clients));
  put("contacts", contactCampaignRoutes(clients));
  put("contacts", ownerRoutes(clients.of(UserMethodService), limits));
  put("audit", auditRoutes(clients.of(AuditEntryService), limits));
  put("stages", stageRoutes(clients.of(StageService), clients.of(ContactMethodService)));
  put("points", pointRoutes(clients, nested));
  put("segments", segmentRoutes(clients.of(SegmentMethodService), limits.batchMax));
  put("focus", focusRoutes(clients.of(FocusMethodService)));
  put("forms", formRoutes(clients, limits, nested));
  put("files", fileRoutes(clients.of(FileService), options.transfer));
  put("themes", themeRoutes(clients.of(ThemeService), options.transfer));
  put("hooks", hookRoutes(clients.of(TriggerService)));
  put("users", userRoutes(clients.of(UserMethodService), limits));
  router.use(places);
  endpoint(router, "/", { GET: listResources });
  router.use(() => {
    throw notFound("The API has nothing at this path. GET /api names what it has.");
  });
  return router;
}

/**
 * Routers by the first word of their paths. Express asks one after the other, each by a regular expression: that of some sixty took a
 * tenth of the gateway's part of a small request.
 */
function byFirstWord() {
  const routers = new Map<string, Router>();
  const put = (path: string, router: Router): void => {
    const [word = ""] = path.split("/");
    const place = routers.get(word) ?? Router({ caseSensitive: true });
    routers.set(word, place.use(`/${path}`, router));
  };
  const places: Step = (request, response, next) => {
    const [, word = ""] = request.path.split("/", 2);
    const place = routers.get(word);
    if (place) place(request, response, next);
    else next();
  };
  return { places, put };
}

/** Where each resource is. What a newcomer asks for first. */
async function listResources(_request: Request, response: ApiResponse): Promise<void> {
  const paths = resources.map(({ path }) => [path, `/api/${path}`]);
  sendJson(response, 200, JSON.stringify({ resources: Object.fromEntries(paths) }));
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
    const isRead = request.method === "GET";
    let isWork = false;
    const resume = () => {
      if (isWork || response.closed) return;
      shedding.admit(isRead);
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
      // Asked by the few that are late.
      get address() {
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
    if (rates.principal) await consume(rates.principal, `${actor.kind}:${actor.id ?? actor.name}`, response);
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
