import { create } from "@bufbuild/protobuf";
import type { ServiceDefinition, UntypedServiceImplementation } from "@grpc/grpc-js";
import {
  Health,
  type HealthCheckResponse,
  HealthCheckResponseSchema,
  HealthCheckResponse_ServingStatus as Serving,
} from "@tidings/proto/grpc/health/v1/health";
import { methodDefinition } from "./definition.ts";

interface Watcher {
  write(response: HealthCheckResponse): void;
  on(event: "cancelled", listener: () => void): void;
}

/** The gRPC health checking protocol, so that Kubernetes and load balancers can ask the server itself. */
export function healthService() {
  const watchers = new Set<Watcher>();
  let serving = false;
  const answer = () =>
    create(HealthCheckResponseSchema, { status: serving ? Serving.SERVING : Serving.NOT_SERVING });
  const definition: ServiceDefinition = {
    check: methodDefinition(Health.method.check),
    watch: { ...methodDefinition(Health.method.watch), responseStream: true },
  };
  const implementation: UntypedServiceImplementation = {
    check: (_call: unknown, respond: (error: null, response: HealthCheckResponse) => void) =>
      respond(null, answer()),
    watch: (watcher: Watcher) => {
      watchers.add(watcher);
      watcher.on("cancelled", () => watchers.delete(watcher));
      watcher.write(answer());
    },
  };
  const setServing = (value: boolean) => {
    serving = value;
    for (const watcher of watchers) watcher.write(answer());
  };
  return { definition, implementation, setServing };
}
