import type { Tracer } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from "@opentelemetry/resources";
import { BatchSpanProcessor, NodeTracerProvider } from "@opentelemetry/sdk-trace-node";

/** Exports spans by OTLP. `OTEL_*` set the endpoint, the sampling and the resource attributes of the process. */
export function registerTracing(service: string): { tracer: Tracer; flush(): Promise<void> } {
  const resource = defaultResource()
    .merge(resourceFromAttributes({ "service.namespace": "tidings", "service.name": service }))
    .merge(detectResources({ detectors: [envDetector] }));
  const spanProcessors = [new BatchSpanProcessor(new OTLPTraceExporter())];
  const provider = new NodeTracerProvider({ resource, spanProcessors });
  provider.register();
  return { tracer: provider.getTracer("tidings"), flush: () => provider.forceFlush() };
}
