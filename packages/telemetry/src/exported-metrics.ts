import { type Attributes, type HrTime, ValueType } from "@opentelemetry/api";
import { emptyResource } from "@opentelemetry/resources";
import {
  AggregationTemporality,
  type DataPoint,
  DataPointType,
  type Histogram,
  type MetricData,
  type MetricProducer,
} from "@opentelemetry/sdk-metrics";
import type { MetricObjectWithValues, MetricValue, Registry } from "prom-client";

export interface MetricSource {
  registry: Registry;
  /** Gives its metrics their present values. */
  refresh(): Promise<void>;
}

/** Units that names of Prometheus end in, as UCUM writes them. */
const UNITS = { _seconds: "s", _bytes: "By" };

type Values = MetricObjectWithValues<MetricValue<string> & { metricName?: string }>;
interface Span {
  startTime: HrTime;
  endTime: HrTime;
}

/**
 * The metrics of this process as OpenTelemetry has them. Their names lose the endings for counters and units, which a receiver adds again
 * ("Prometheus and OpenMetrics Compatibility" of the specification): a Prometheus behind a collector knows them by the names of `/metrics`.
 * All are cumulative.
 */
export function exportedMetrics({ registry, refresh }: MetricSource): MetricProducer {
  const startTime = timeOf(performance.timeOrigin);
  return {
    async collect() {
      await refresh();
      const span = { startTime, endTime: timeOf(Date.now()) };
      const all = (await registry.getMetricsAsJSON()) as Values[];
      const metrics = all.filter(({ values }) => values.length > 0).map((metric) => metricOf(metric, span));
      const scopeMetrics = [{ scope: { name: "tidings" }, metrics }];
      return { resourceMetrics: { resource: emptyResource(), scopeMetrics }, errors: [] };
    },
  };
}

function metricOf(metric: Values, span: Span): MetricData {
  const { name, help: description, values } = metric;
  // The package's types say a number, where it has a text.
  const type = metric.type as unknown as string;
  const plain = type === "counter" ? name.replace(/_total$/, "") : name;
  const [ending, unit] = Object.entries(UNITS).find(([word]) => plain.endsWith(word)) ?? ["", ""];
  const descriptor = {
    name: plain.slice(0, plain.length - ending.length),
    description,
    unit,
    valueType: ValueType.DOUBLE,
  };
  const common = { descriptor, aggregationTemporality: AggregationTemporality.CUMULATIVE };
  if (type === "histogram")
    return { ...common, dataPointType: DataPointType.HISTOGRAM, dataPoints: histograms(values, span) };
  const dataPoints = values.map(({ labels, value }) => ({
    ...span,
    attributes: attributesOf(labels),
    value,
  }));
  if (type === "counter")
    return { ...common, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints };
  return { ...common, dataPointType: DataPointType.GAUGE, dataPoints };
}

/** A histogram for each set of labels. Buckets of Prometheus count what is in those below, too. */
function histograms(values: Values["values"], span: Span): DataPoint<Histogram>[] {
  const bySet = Map.groupBy(values, ({ labels }) => JSON.stringify(attributesOf(labels)));
  return [...bySet].map(([set, own]) => {
    const numberOf = (ending: string) =>
      own.find(({ metricName }) => metricName?.endsWith(ending))?.value ?? 0;
    const buckets = own.filter(({ metricName }) => metricName?.endsWith("_bucket"));
    const boundaries = buckets.map(({ labels }) => Number(labels.le)).filter(Number.isFinite);
    const counts = buckets.map(({ value }, index) => value - (buckets[index - 1]?.value ?? 0));
    const value = { buckets: { boundaries, counts }, sum: numberOf("_sum"), count: numberOf("_count") };
    return { ...span, attributes: JSON.parse(set) as Attributes, value };
  });
}

function attributesOf({ le: _bucket, ...labels }: MetricValue<string>["labels"]): Attributes {
  return labels;
}

/** Seconds and nanoseconds since the epoch. */
function timeOf(milliseconds: number): HrTime {
  const seconds = Math.floor(milliseconds / 1_000);
  return [seconds, Math.round((milliseconds - seconds * 1_000) * 1e6)];
}
