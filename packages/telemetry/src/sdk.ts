import { DiagLogLevel, diag, logs } from "@opentelemetry/api";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import { defaultResource, resourceFromAttributes } from "@opentelemetry/resources";
import {
  ConsoleMetricExporter,
  type IMetricReader,
  PeriodicExportingMetricReader,
  type PushMetricExporter,
} from "@opentelemetry/sdk-metrics";
import { NodeSDK } from "@opentelemetry/sdk-node";
import { emitLine } from "./exported-line.ts";
import { exportedMetrics, type MetricSource } from "./exported-metrics.ts";

/** A process as the SDK sees it. This package is a file of its own, which few load: all that it shares with the process is given to it. */
export interface Exported {
  service: string;
  /** The names of the exporters of each signal. */
  exporters: Record<"TRACES" | "METRICS" | "LOGS", string[]>;
  metrics: MetricSource;
  /** Has each line of the log handed to a listener. */
  forwardLines(listener: (line: string) => void): void;
  /** Writes a line that says what went wrong with exporting. */
  warn(message: string): void;
}

const INTERVAL_MS = 60_000;
const TIMEOUT_MS = 30_000;

/**
 * Starts the SDK, which reads endpoints, protocols, headers, samplers, limits and resource attributes from the variables `OTEL_*`. Returns
 * what sends the rest and ends it.
 */
export async function startSdk(exported: Exported): Promise<() => Promise<void>> {
  const { service, exporters, warn } = exported;
  const silent = () => undefined;
  diag.setLogger(
    { error: warn, warn, info: silent, debug: silent, verbose: silent },
    { logLevel: DiagLogLevel.WARN },
  );
  const sdk = new NodeSDK({
    resource: defaultResource().merge(
      resourceFromAttributes({ "service.namespace": "tidings", "service.name": service }),
    ),
    // Events and jobs keep the context of W3C, and no other.
    textMapPropagator: new W3CTraceContextPropagator(),
    metricReaders: await metricReaders(exported),
    ...(exporters.TRACES.length === 0 && { spanProcessors: [] }),
    ...(exporters.LOGS.length === 0 && { logRecordProcessors: [] }),
  });
  sdk.start();
  if (exporters.LOGS.length > 0) {
    const logger = logs.getLogger("tidings");
    exported.forwardLines((line) => emitLine(logger, line));
  }
  return () => sdk.shutdown();
}

async function overHttp(): Promise<PushMetricExporter> {
  const { OTLPMetricExporter } = await import("@opentelemetry/exporter-metrics-otlp-proto");
  return new OTLPMetricExporter();
}

/** The exporters of metrics by their protocol, each of which is loaded when it is asked for. */
const OTLP = new Map<string, () => Promise<PushMetricExporter>>([
  ["http/protobuf", overHttp],
  [
    "http/json",
    async () => {
      const { OTLPMetricExporter } = await import("@opentelemetry/exporter-metrics-otlp-http");
      return new OTLPMetricExporter();
    },
  ],
  [
    "grpc",
    async () => {
      const { OTLPMetricExporter } = await import("@opentelemetry/exporter-metrics-otlp-grpc");
      return new OTLPMetricExporter();
    },
  ],
]);

/** Readers of the metrics of this process. The one named `prometheus` is the operator's port, which is always there. */
async function metricReaders({ exporters: wanted, metrics }: Exported): Promise<IMetricReader[]> {
  const { OTEL_EXPORTER_OTLP_METRICS_PROTOCOL, OTEL_EXPORTER_OTLP_PROTOCOL } = process.env;
  const protocol = OTEL_EXPORTER_OTLP_METRICS_PROTOCOL || OTEL_EXPORTER_OTLP_PROTOCOL || "http/protobuf";
  const exporters: PushMetricExporter[] = [];
  for (const name of wanted.METRICS) {
    if (name === "otlp") exporters.push(await (OTLP.get(protocol) ?? overHttp)());
    if (name === "console") exporters.push(new ConsoleMetricExporter());
  }
  const exportIntervalMillis = milliseconds("OTEL_METRIC_EXPORT_INTERVAL", INTERVAL_MS);
  const exportTimeoutMillis = Math.min(
    exportIntervalMillis,
    milliseconds("OTEL_METRIC_EXPORT_TIMEOUT", TIMEOUT_MS),
  );
  return exporters.map(
    (exporter) =>
      new PeriodicExportingMetricReader({
        exporter,
        exportIntervalMillis,
        exportTimeoutMillis,
        metricProducers: [exportedMetrics(metrics)],
      }),
  );
}

function milliseconds(name: string, usual: number): number {
  const value = Number(process.env[name]);
  return value > 0 ? value : usual;
}
