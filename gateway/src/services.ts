import { OWNERS } from "@tidings/proto/tidings/owners";
import { variableOf } from "@tidings/runtime/config";

/** The processes behind the gateway, which serves identity itself. A service is served by the process of its proto package. */
export const SERVICES = OWNERS.filter((owner) => owner !== "identity");

type Variable = ReturnType<typeof variableOf<(typeof SERVICES)[number]>>;

/** Where each of them is. */
export function addressesOf(config: Record<Variable, string>): Record<string, string> {
  return Object.fromEntries(SERVICES.map((name) => [name, config[variableOf(name)]]));
}
