import type { Outbox } from "@tidings/messaging/outbox";
import type { Request } from "express";
import type { RateLimiterAbstract } from "rate-limiter-flexible";
import type { Credentials } from "../auth/credentials.ts";
import type { VisitOptions } from "./visit.ts";

export interface PagesOptions extends VisitOptions {
  outbox: Outbox;
  credentials: Credentials;
  anonymousRate: RateLimiterAbstract;
  /** Where browsers find us, such as `https://tidings.example`; the Host header says so when undefined. */
  apiOrigin: string | undefined;
}

/** Where the browser found this page. */
export function originOf(request: Request, { apiOrigin }: PagesOptions): string {
  return apiOrigin ?? `http://${request.headers.host ?? "localhost"}`;
}
