import { Trend } from "k6/metrics";
import { type Api, measuredApi, preparingApi } from "./api.ts";
import type { Limit } from "./limits.ts";
import type { PublicEndpoint, RouteName } from "./routes.ts";

/** How long something takes that no single answer shows. */
export interface DomainLatency {
  /** The name of the metric. */
  name: string;
  limit: Limit;
  add(milliseconds: number): void;
}

export function domainLatency(name: string, limit: Limit): DomainLatency {
  const trend = new Trend(name, true);
  return { name, limit, add: (milliseconds) => trend.add(milliseconds) };
}

/** Pages and tokens, which are below no route of the API. */
type BesideApi = `${"GET" | "POST"} /oauth/${string}`;
type Called = RouteName | PublicEndpoint;
type Endpoints = Called | BesideApi;

interface Definition<Endpoint extends Endpoints, Data> {
  /** How often it is begun where the product is used as expected. */
  perMinute: number;
  /** The product lets nobody do this more often: no profile does either. */
  isLimited?: boolean;
  /** Every request that an iteration makes, and how fast it is to be answered. */
  endpoints: Record<Endpoint, Limit>;
  latencies?: DomainLatency[];
  /** Makes what all iterations use; `run` is a word that no other run has. */
  prepare(api: Api<RouteName>, run: string): Data;
  /** `mark` is a word that no other iteration has. */
  iterate(api: Api<Extract<Endpoint, Called>>, data: Data, mark: string, token: string): void;
  /** Removes what `prepare` made. */
  remove(api: Api<RouteName>, data: Data): void;
}

/** One way in which the product is used. What `prepare` gives comes back to the others as JSON made it. */
export interface Journey extends Pick<Definition<Endpoints, unknown>, "perMinute"> {
  endpoints: Record<string, Limit>;
  isLimited: boolean;
  latencies: DomainLatency[];
  prepare(token: string, run: string): unknown;
  iterate(token: string, data: unknown, mark: string): void;
  remove(token: string, data: unknown): void;
}

/** A journey may call only the endpoints that it has limits for. */
export function journey<Endpoint extends Endpoints, Data>(definition: Definition<Endpoint, Data>): Journey {
  const { perMinute, endpoints, isLimited = false, latencies = [] } = definition;
  return {
    perMinute,
    endpoints,
    isLimited,
    latencies,
    prepare: (token, run) => definition.prepare(preparingApi(token), run),
    iterate: (token, data, mark) => definition.iterate(measuredApi(token), data as Data, mark, token),
    remove: (token, data) => definition.remove(preparingApi(token), data as Data),
  };
}
