import type { Tracer } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from "@opentelemetry/resources";
import { BatchSpanProcessor, NodeTracerProvider } from "@opentelemetry/sdk-trace-node";

/** Exports what is traced by OTLP. `OTEL_*` say where to, how much of it, and what else is told of the process. */
export function registerTracing(service: string): { tracer: Tracer; flush(): Promise<void> } {
  const resource = defaultResource()
    .merge(resourceFromAttributes({ "service.namespace": "tidings", "service.name": service }))
    .merge(detectResources({ detectors: [envDetector] }));
  const spanProcessors = [new BatchSpanProcessor(new OTLPTraceExporter())];
  const provider = new NodeTracerProvider({ resource, spanProcessors });
  provider.register();
  return { tracer: provider.getTracer("tidings"), flush: () => provider.forceFlush() };
}
