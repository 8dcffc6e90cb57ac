import type { Clients } from "../clients.ts";
import type { NestedForm } from "../rest/message-json.ts";
import type { ApiLimits } from "../route/standard-routes.ts";
import type { Transfer } from "../transfer.ts";

/** The services and settings that handlers of routes work with. */
export interface RoutesContext {
  clients: Clients;
  transfer: Transfer;
  limits: ApiLimits;
  nested: NestedForm;
}
