import { Trend } from "k6/metrics";
import { type Api, measuredApi, preparingApi } from "./api.ts";
import type { Limit } from "./limits.ts";

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

interface Definition<Endpoint extends string, Data> {
  /** How often it is begun where the product is used as expected. */
  perMinute: number;
  /** The product lets nobody do this more often: no profile does either. */
  isLimited?: boolean;
  /** Every request that an iteration makes, and how fast it is to be answered. */
  endpoints: Record<Endpoint, Limit>;
  latencies?: DomainLatency[];
  /** Makes what all iterations use; `run` is a word that no other run has. */
  prepare(api: Api<string>, run: string): Data;
  /** `mark` is a word that no other iteration has. */
  iterate(api: Api<Endpoint>, data: Data, mark: string, token: string): void;
  /** Removes what `prepare` made. */
  remove(api: Api<string>, data: Data): void;
}

/** One way in which the product is used. What `prepare` gives comes back to the others as JSON made it. */
export interface Journey extends Pick<Definition<string, unknown>, "perMinute" | "endpoints"> {
  isLimited: boolean;
  latencies: DomainLatency[];
  prepare(token: string, run: string): unknown;
  iterate(token: string, data: unknown, mark: string): void;
  remove(token: string, data: unknown): void;
}

/** A journey may call only the endpoints that it has limits for. */
export function journey<Endpoint extends string, Data>(definition: Definition<Endpoint, Data>): Journey {
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
