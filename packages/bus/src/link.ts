import { context, propagation, type Span, trace } from "@opentelemetry/api";

/** Links a span to one of another trace, given as W3C traceparent. */
export function linkTo(span: Span, traceparent: string): void {
  const other = trace.getSpanContext(propagation.extract(context.active(), { traceparent }));
  if (other) span.addLink({ context: other });
}
