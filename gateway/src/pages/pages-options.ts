import type { Outbox } from "@tidings/store/outbox";
import type { RateLimiterAbstract } from "rate-limiter-flexible";
import type { Credentials } from "../auth/credentials.ts";
import type { VisitOptions } from "./visit.ts";

export interface PagesOptions extends VisitOptions {
  outbox: Outbox;
  credentials: Credentials;
  anonymousRate: RateLimiterAbstract;
  /** Where browsers find us, such as `https://tidings.example`; the Host header says so when undefined. */
  publicOrigin: string | undefined;
}
