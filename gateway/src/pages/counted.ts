import { addressKey } from "../limits/address-key.ts";
import { consume } from "../limits/rate-limit.ts";
import type { PlaceHandler } from "../place.ts";
import type { PagesOptions } from "./pages-options.ts";

/** Counts a request by its address before it is handled. */
export function counted(
  { anonymousRate, clientIp }: Pick<PagesOptions, "anonymousRate" | "clientIp">,
  handler: PlaceHandler,
): PlaceHandler {
  return async (request, response) => {
    await consume(anonymousRate, addressKey(clientIp(request)), response);
    await handler(request, response);
  };
}
